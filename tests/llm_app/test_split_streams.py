"""Streams split at any position give the same turn and the same streamed text."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_app.errors import UnreadableReply
from llm_app.transport.sse import MAX_LINE, ServerEvent, SSEDecoder
from tests.llm_app.protocol_case import Case, all_cases, folded, streamed
from tests.provider import openai_chunk, sse

STREAMS = [case for case in all_cases() if not case.error and case.content_type == "text/event-stream"]


def events(chunks: list[bytes]) -> list[ServerEvent]:
    decoder = SSEDecoder()
    return [event for chunk in chunks for event in decoder.feed(chunk)] + list(decoder.end())


def split(raw: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(places), len(raw)]
    return [raw[start:end] for start, end in zip(edges, edges[1:], strict=False)]


@given(st.data())
@settings(max_examples=400, deadline=None)
def test_a_stream_may_be_split_anywhere(data):
    case = data.draw(st.sampled_from(STREAMS))
    places = data.draw(st.lists(st.integers(0, len(case.raw)), max_size=12))
    assert folded(case.parser(), events(split(case.raw, places))) == folded(case.parser(), events([case.raw]))


@pytest.mark.parametrize("case", STREAMS, ids=str)
def test_a_stream_may_arrive_byte_by_byte(case):
    case.check(*folded(case.parser(), events([bytes([byte]) for byte in case.raw])))


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_text_may_be_split_anywhere(data):
    """Split the text between other tokens, as a model may."""
    case = data.draw(st.sampled_from([case for case in STREAMS if case.says]))
    text = "".join(case.says)
    edges = [0, *sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8))), len(text)]
    pieces = [text[start:end] for start, end in zip(edges, edges[1:], strict=False)]
    other = Case(protocol=case.protocol, name="", says=pieces, finish=case.finish, quirks=case.quirks)
    turn, deltas = folded(case.parser(), events([case.raw]))
    turn_of_pieces, deltas_of_pieces = folded(other.parser(), events([other.raw]))
    assert turn_of_pieces == turn
    assert streamed(deltas_of_pieces, "text") == streamed(deltas, "text")
    assert streamed(deltas_of_pieces, "words") == streamed(deltas, "words")
    assert streamed(deltas_of_pieces, "thinking") == streamed(deltas, "thinking")


def test_text_may_be_split_at_each_position_around_a_tag():
    case = next(case for case in STREAMS if case.name == "tags at the beginning of the content")
    text = "".join(case.says)
    for place in range(len(text)):
        halves = Case(protocol=case.protocol, name="", says=[text[:place], text[place:]], turn=case.turn)
        halves.check(*folded(halves.parser(), events([halves.raw])))


@pytest.mark.parametrize(
    "chunks",
    [
        pytest.param(lambda raw: [raw], id="in one chunk"),
        pytest.param(lambda raw: [raw[place : place + 1] for place in range(len(raw))], id="byte by byte"),
    ],
)
def test_a_megabyte_in_one_event_takes_linear_time(chunks):
    raw = b"".join(sse(openai_chunk({"content": "x" * 1_000_000}), openai_chunk({}, "stop")))
    case = Case(protocol="openai_native", name="")
    began = time.process_time()
    turn, _ = folded(case.parser(), events(chunks(raw)))
    assert time.process_time() - began < 5
    assert len(turn.content) == 1_000_000


@pytest.mark.parametrize("size", [MAX_LINE + 100, 40_000])
def test_a_line_that_is_too_long_is_rejected(size):
    """Send the line at once with its end, or in fragments."""
    body, decoder = b"data: " + b"x" * MAX_LINE + b"\n\n", SSEDecoder()
    pieces = (body[start : start + size] for start in range(0, len(body), size))
    heard = (event for piece in pieces for event in decoder.feed(piece))
    with pytest.raises(UnreadableReply, match="longer than 16 MiB"):
        list(heard)


def test_many_short_lines_may_arrive_at_once():
    assert len(list(SSEDecoder().feed(b"data: x\n\n" * (MAX_LINE // 8)))) == MAX_LINE // 8
