"""The text of a message, decoded while the JSON of its call arrives."""

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_app.text_calls.argument_stream import ArgumentStream

keys = st.sampled_from(["text", "type", "arguments", "tool", 'te"xt', "é"]) | st.text(max_size=5)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)


def streamed(text: str, *path: str, places: list[int] | None = None) -> str:
    stream = ArgumentStream(*path)
    edges = [0, *sorted(min(place, len(text)) for place in places or []), len(text)]
    return "".join(stream.feed(text[start:end]) for start, end in zip(edges, edges[1:], strict=False))


def at(value: object, path: tuple[str, ...]) -> str:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""


@given(
    st.dictionaries(keys, values),
    st.sampled_from([("text",), ("arguments", "text"), ("tool",), ('te"xt',), ("arguments", "arguments", "text")]),
    st.lists(st.integers(0, 400), max_size=8),
    st.booleans(),
    st.sampled_from([None, 2]),
)
@settings(deadline=None)
def test_only_the_string_at_the_path_is_returned(value, path, places, ascii_only, indent):
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert streamed(text, *path, places=places) == at(value, path)


@given(st.text(), st.data())
@settings(deadline=None)
def test_a_prefix_of_the_json_gives_a_prefix_of_the_string(text, data):
    whole = json.dumps({"type": "info", "text": text})
    assert text.startswith(streamed(whole[: data.draw(st.integers(0, len(whole)))], "text"))


@given(st.text(alphabet=st.sampled_from(list('{}[]":,\\u00ad8ct ex\n')), max_size=80))
@settings(deadline=None)
def test_no_input_raises(text):
    streamed(text, "text")
    streamed(text, "arguments", "text")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r'{"text": "\ud83d\ude00"}', "😀"),
        (r'{"text": "\ud83d"}', ""),
        (r'{"text": "\ud83dA"}', "A"),
        (r'{"text": "\ud83d\n\ude00"}', "\n�"),
        (r'{"text": "\ude00"}', "�"),
        (r'{"text": "\uZZZZ"}', "�"),
        (r'{"text": "\x"}', "x"),
        ('{"a": {"text": "no"}, "b": ["text", "no"], "text": "yes"}', "yes"),
        ('[{"text": "no"}]', ""),
        ('"text": "no"', ""),
    ],
)
def test_odd_cases(text, expected):
    assert streamed(text, "text") == expected


@pytest.mark.parametrize(
    "text", ['{"text": "' + "x" * 1_000_000, "[" * 1_000_000, '{"text": "' + r"\u0041" * 170_000, '{"a":' * 200_000]
)
def test_a_megabyte_takes_linear_time(text):
    began = time.process_time()
    streamed(text, "text")
    assert time.process_time() - began < 2
