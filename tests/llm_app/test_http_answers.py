"""HTTP responses in chunks of any size."""

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_app import errors
from llm_app.transport.response import IncomingResponse

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: Text/Event-Stream; charset=utf-8\r\n"
BODY = b"data: 1\n\ndata: 2\n\n"
CHUNKED = (
    HEAD
    + b"Transfer-Encoding: chunked\r\n\r\n"
    + b"".join(b"3\r\n%s\r\n" % BODY[at : at + 3] for at in range(0, 18, 3))
)


def with_length(body: bytes, *headers: bytes) -> bytes:
    return HEAD + b"".join(header + b"\r\n" for header in headers) + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


WHOLE = {
    "with a length": with_length(BODY),
    "in chunks": CHUNKED + b"0\r\n\r\n",
    "after an interim one": b"HTTP/1.1 100 Continue\r\n\r\n" + with_length(BODY),
    "with lines that end without a return": with_length(BODY).replace(b"\r\n", b"\n"),
    "compressed": with_length(gzip.compress(BODY), b"Content-Encoding: gzip"),
    "compressed in parts": with_length(gzip.compress(BODY[:7]) + gzip.compress(BODY[7:]), b"Content-Encoding: gzip"),
    "compressed otherwise": with_length(zlib.compress(BODY), b"Content-Encoding: Deflate"),
}


def fed(data: bytes, cuts: list[int]) -> tuple[IncomingResponse, bytes]:
    response, ends = IncomingResponse(), sorted({cut % len(data) for cut in cuts} | {len(data)})
    pieces = [data[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    return response, b"".join(b"".join(response.feed(piece)) for piece in pieces if piece)


@given(st.sampled_from(sorted(WHOLE)), st.lists(st.integers(0, 500), max_size=6))
def test_a_response_is_complete_and_its_connection_reusable(kind: str, cuts: list[int]) -> None:
    response, body = fed(WHOLE[kind], cuts)
    assert (response.status, response.content_type, body) == (200, "text/event-stream", BODY)
    assert (response.is_complete, response.can_reuse_connection) == (True, True)


@given(st.sampled_from([b"", b"Transfer-Encoding: identity\r\n"]), st.lists(st.integers(0, 500), max_size=6))
def test_a_response_without_length_ends_with_its_connection(header: bytes, cuts: list[int]) -> None:
    response, body = fed(HEAD + header + b"\r\n" + BODY, cuts)
    assert (body, response.is_complete) == (BODY, False)
    response.feed(b"")
    assert (response.is_complete, response.can_reuse_connection) == (True, False)


@pytest.mark.parametrize("beginning", [b"", HEAD, CHUNKED, with_length(BODY)[:-1], b"HTTP/1.1 100 Continue\r\n\r\n"])
def test_a_truncated_response_is_a_cut_stream(beginning: bytes) -> None:
    response = IncomingResponse()
    if beginning:
        response.feed(beginning)
    with pytest.raises(errors.StreamCut):
        response.feed(b"")


@pytest.mark.parametrize(
    "whole", [with_length(BODY, b"Connection: close"), with_length(BODY) + b"HTTP/1.1 200 OK\r\n", with_length(BODY) + with_length(b"bad")]
)  # fmt: skip
def test_a_closing_or_unrequested_response_prevents_reuse(whole: bytes) -> None:
    response, body = fed(whole, [])
    assert (body, response.is_complete, response.can_reuse_connection) == (BODY, True, False)


def test_headers_of_an_interim_response_are_dropped() -> None:
    response, _ = fed(b"HTTP/1.1 103 Early Hints\r\nRetry-After: 9\r\n\r\n" + with_length(BODY), [])
    assert "Retry-After" not in response.headers


def test_an_endless_head_is_a_cut_stream() -> None:
    endless = HEAD + b"".join(b"X-%d: %s\r\n" % (number, b"x" * 60_000) for number in range(20))
    with pytest.raises(errors.StreamCut):
        fed(endless, list(range(0, len(endless), 50_000)))
