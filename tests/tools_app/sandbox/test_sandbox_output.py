"""Tests of bounded output: any chunks, counted gaps, and named binary data."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pictures import picture
from tools_app.files import clipped
from tools_app.sandbox.output import BoundedOutput, CommandOutput

TEXT = st.text(st.characters(exclude_categories=["Cc", "Cs"], include_characters="\n\t\r"), max_size=200)


def output_of(chunks: list[bytes], limit: int = 1024**2) -> tuple[BoundedOutput, str]:
    shown: list[str] = []
    output = CommandOutput(limit, shown.append)
    for chunk in chunks:
        output.add(chunk)
    output.finish()
    return output.stored, "".join(shown)


def in_chunks(data: bytes, size: int = 65_536) -> list[bytes]:
    return [data[begin : begin + size] for begin in range(0, len(data), size)]


@given(TEXT, st.lists(st.integers(0, 800), max_size=20))
def test_short_output_is_complete_in_any_chunks(text: str, cuts: list[int]) -> None:
    data = text.encode()
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    kept, shown = output_of([data[a:b] for a, b in zip(places, places[1:], strict=False)], limit=800)
    assert kept.text() == shown == text
    assert not kept.truncated


@given(st.lists(st.binary(max_size=50), max_size=30), st.integers(2, 100))
def test_stored_output_never_exceeds_the_limit(chunks: list[bytes], limit: int) -> None:
    kept, shown = output_of(chunks, limit)
    size = sum(map(len, chunks))
    assert kept.truncated == (size > limit)
    assert len(shown) <= limit + 100 * len(chunks)
    assert len(kept.text()) <= limit + 250  # lines that report a gap or binary data


def test_both_ends_are_kept_around_a_line_with_the_gap() -> None:
    kept, shown = output_of([b"first", b"-" * 100, b"last"], limit=10)
    assert kept.text() == "first\n[… 99 of 109 bytes of output were not kept …]\n-last"
    assert shown == "first-----"


@pytest.mark.parametrize("limit", [20_000, 30_001, 1024**2])
@pytest.mark.parametrize("size", [1_000, 65_536])
def test_dropped_lines_are_counted_and_others_complete(limit: int, size: int) -> None:
    printed = [str(number) for number in range(1, 200_001)]
    kept, _ = output_of(in_chunks("".join(f"{line}\n" for line in printed).encode(), size), limit)
    head, _, tail = kept.text().partition("[… ")
    gap, _, tail = tail.partition(" …]\n")
    first, last = head.splitlines(), tail.splitlines()
    lost = len(printed) - len(first) - len(last)
    assert printed == [*first, *printed[len(first) : len(first) + lost], *last]
    assert gap.startswith(f"{lost:,} of 200,000 lines (")
    assert clipped.loss_note(kept.text()) == gap


def test_gap_in_one_long_line_is_given_in_bytes() -> None:
    kept, _ = output_of([b"x" * 5_000_000])
    assert clipped.loss_note(kept.text()) == "3,951,424 of 5,000,000 bytes of output were not kept"


def test_complete_output_has_no_gap() -> None:
    assert clipped.loss_note(output_of([b"9 of 10 lines passed\n"])[0].text()) == ""


@pytest.mark.parametrize("limit", [4, 5, 6, 7])
def test_gap_never_splits_a_character(limit: int) -> None:
    kept, _ = output_of(["äöü€äöü".encode()], limit)
    assert "�" not in kept.text()


RANDOM = random.Random(3)  # noqa: S311  the same in every run
NOISE = RANDOM.randbytes(20_000)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (picture(), ", looks like PNG"),
        (b"\x7fELF\2\1\1" + bytes(9) + NOISE, ", looks like an ELF program"),
        (b"PK\3\4\x14\0" + NOISE, ", looks like ZIP (also Office files)"),
        (b"%PDF-1.7\n1 0 obj\n" + NOISE, ", looks like PDF"),
        (b"\xff" + NOISE, ""),
    ],
)
@pytest.mark.parametrize(("before", "after"), [(b"", b""), (b"start\n", b"done\n")])
def test_binary_data_is_named_between_text_lines(data: bytes, kind: str, before: bytes, after: bytes) -> None:
    size = len(data.rstrip()) if data is not None else 0
    kept, shown = output_of([before + data + after])
    name = kept.text().removeprefix(before.decode()).removesuffix(after.decode())
    assert name.startswith("[binary output, ")
    assert name.endswith(f"bytes{kind}; redirect it to a file]\n")
    assert abs(int(name.split()[2].replace(",", "")) - size) < 10
    assert shown.startswith(f"{before.decode()}[binary output{kind}; redirect it to a file]\n[these were ")
    assert shown.endswith(f"bytes of binary output]\n{after.decode()}")


def test_large_binary_data_is_named_once_with_total_size() -> None:
    kept, shown = output_of(in_chunks(b"\x89PNG\r\n" + NOISE * 100))
    assert kept.text() == "[binary output, 2,000,006 bytes, looks like PNG; redirect it to a file]\n"
    assert shown == "[binary output, looks like PNG; redirect it to a file]\n"  # only the beginning is streamed


@pytest.mark.parametrize(
    "data",
    [
        "Straße und Gemüse\n".encode("latin-1") * 9,
        b"one.txt\0two.txt\0three.txt\0",  # as in find -print0
        b"\x1b[31mred\x1b[0m\r\n50 %\r100 %\n",
        b"a line with a flaw \xff\xfe in it, and many more words\n" * 3,
        "日本語 🐝\n".encode(),
    ],
)
def test_unusual_text_is_not_treated_as_binary(data: bytes) -> None:
    kept, shown = output_of([data])
    assert kept.text() == shown == data.decode(errors="replace")
