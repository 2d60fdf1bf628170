"""Streams are redacted like complete texts, and nothing is held back without need."""

import base64
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from llm_app.redaction import Redactor, StreamRedactor

SECRETS = [
    ("TOKEN", "ghp_0a1B2c3D4e5F6g7H8i9J"),
    ("PASSWORD", "pa\"ss' \\wo/rd <&>"),
    ("REPEATS", "abcabcabcabd"),
    ("OVERLAPS", "cabd-and-more"),
    ("KEY", "first line of a key\nsecond line of it\nthird line of it"),
]
REDACTOR = Redactor(SECRETS)
PARTS = [
    *(value for _, value in SECRETS),
    "abcabc",
    "abcabcabcabd-and-more",
    "ghp_0a1B2c3D4e",
    "second line",
    base64.b64encode(b"user:ghp_0a1B2c3D4e5F6g7H8i9J").decode(),
    "\n".join(base64.encodebytes(b"x" * 50 + b"ghp_0a1B2c3D4e5F6g7H8i9J").decode().split()),
    "67 68 70 5f 30 61 31 42 32 63 33 44 34 65 35 46 36 67 37 48 38 69 39 4a",
    "pa%22ss%27%20%5cwo%2frd%20%3c%26%3e",
    " ",
    "\n",
    "an ordinary sentence. ",
    "→ é 😀",
]
texts = st.lists(st.sampled_from(PARTS) | st.text(max_size=5), max_size=8).map("".join)


@settings(deadline=None)
@given(text=texts, cuts=st.lists(st.integers(0, 400), max_size=30))
@example(text="abcabcabcabd-and-more", cuts=[*range(21)])
@example(text="abcabcabcabd-and-mor", cuts=[12])
def test_fragments_give_the_same_as_the_complete_text(text: str, cuts: list[int]) -> None:
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    stream = StreamRedactor(REDACTOR)
    told = "".join(stream.feed(text[start:end]) for start, end in pairwise(places)) + stream.flush()
    assert told == REDACTOR.redacted(text)


@settings(deadline=None)
@given(text=texts)
def test_single_characters_give_the_same_as_the_complete_text(text: str) -> None:
    stream = StreamRedactor(REDACTOR)
    assert "".join(map(stream.feed, text)) + stream.flush() == REDACTOR.redacted(text)


@settings(deadline=None)
@given(text=texts)
def test_no_fragment_shows_part_of_a_secret(text: str) -> None:
    stream, told = StreamRedactor(REDACTOR), ""
    for character in text:
        told += stream.feed(character)
        assert REDACTOR.redacted(text).startswith(told)


@pytest.mark.parametrize("text", ["0", "x ghq", "ghp_0a1B2c3D4e5F6g7H8i9X", "1 + 1 = 2 !", "ä ö ü"])
def test_text_that_begins_no_secret_is_released_immediately(text: str) -> None:
    redactor = Redactor([("TOKEN", "ghp_0a1B2c3D4e5F6g7H8i9J")])
    forms = ["ghp_0a1B2c3D4e5F6g7H8i9J", b"ghp_0a1B2c3D4e5F6g7H8i9J".hex().upper()]
    assert not any(form.startswith(text[-1]) for form in forms)
    assert StreamRedactor(redactor).feed(text) == text


def test_a_possible_beginning_is_held_back_until_it_differs() -> None:
    stream = StreamRedactor(Redactor([("TOKEN", "ghp_0a1B2c3D4e5F6g7H8i9J")]))
    assert stream.feed("! ghp_0a1B") == "! "
    assert stream.feed("2c3") == ""
    assert stream.feed("!") == "ghp_0a1B2c3!"


def test_a_failure_withholds_the_rest_of_the_stream() -> None:
    redactor = Redactor([("TOKEN", "ghp_0a1B2c3D4e5F6g7H8i9J")])
    stream = StreamRedactor(redactor)
    assert stream.feed("! ") == "! "
    redactor.spans = lambda text: 1 / 0  # type: ignore[method-assign, assignment, return-value]
    assert stream.feed("ghp_0a1B2c3D4e5F6g7H8i9J") == "[withheld: redaction failed]"
    assert (stream.feed("more"), stream.flush()) == ("", "")
