"""Output is kept within its bound, whatever its chunks are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_app.sandbox.supervision import Output


def output_of(chunks: list[bytes], limit: int) -> tuple[Output, str]:
    shown: list[str] = []
    output = Output(limit, shown.append)
    for chunk in chunks:
        output.add(chunk)
    return output, "".join(shown)


@given(st.text(max_size=200), st.lists(st.integers(0, 800), max_size=20))
def test_what_fits_is_kept_and_shown_whole_wherever_it_is_cut_into_chunks(text: str, cuts: list[int]) -> None:
    data = text.encode()
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    output, shown = output_of([data[a:b] for a, b in zip(places, places[1:], strict=False)], limit=800)
    assert output.text() == shown == text
    assert not output.truncated


@given(st.lists(st.binary(max_size=50), max_size=30), st.integers(2, 100))
def test_it_never_keeps_more_than_its_limit(chunks: list[bytes], limit: int) -> None:
    output, shown = output_of(chunks, limit)
    size = sum(map(len, chunks))
    assert output.truncated == (size > limit)
    assert len(shown) <= limit
    assert len(output.text()) <= limit + 50  # the line that says how much is missing


def test_both_ends_are_kept_and_the_line_between_says_how_much_is_missing() -> None:
    output, shown = output_of([b"first", b"-" * 100, b"last"], limit=10)
    assert output.text() == "first\n[… 99 bytes left out …]\n-last"
    assert shown == "first-----"


@pytest.mark.parametrize("limit", [4, 5, 6, 7])
def test_no_half_character_stands_beside_the_gap(limit: int) -> None:
    output, _ = output_of(["äöü€äöü".encode()], limit)
    assert "�" not in output.text()
