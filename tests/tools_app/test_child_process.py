"""Tests that work in a child process answers or is ended, and leaves nothing behind."""

import asyncio
import os
from pathlib import Path

import pytest

from tests.waiting import takes_less_than
from tools_app.child_process.parent import ChildLimits, NoAnswer, answer_of

OBEYS = "tests.tools_app.children.obeys"


def children() -> set[str]:
    lists = [path.read_text() for path in Path(f"/proc/{os.getpid()}/task").glob("*/children")]
    return set(" ".join(lists).split())


async def test_child_answers_without_the_servers_environment() -> None:
    answer = await answer_of(OBEYS, {"word": "ü\n"}, b"\0" * 100_000)
    assert (answer["request"], answer["size"]) == ({"word": "ü\n"}, 100_000)
    assert set(answer["environment"]) <= {"LC_CTYPE"}  # Python sets it itself


@pytest.mark.parametrize("do", ["raise", "die"])
async def test_a_failing_child_gives_no_answer(do: str) -> None:
    with pytest.raises(NoAnswer):
        await answer_of(OBEYS, {"do": do})


@pytest.mark.parametrize(
    ("do", "limits"),
    [
        ("stall", ChildLimits(wall_s=0.5)),
        ("compute", ChildLimits(cpu_s=1)),
        ("grow", ChildLimits(memory=512 * 1024**2)),
    ],
)
async def test_limits_end_the_child(do: str, limits: ChildLimits) -> None:
    before = children()
    async with asyncio.timeout(30):
        with pytest.raises(NoAnswer):
            await answer_of(OBEYS, {"do": do}, limits=limits)
    assert children() <= before


async def test_cancellation_kills_the_child() -> None:
    before = children()
    running = asyncio.create_task(answer_of(OBEYS, {"do": "stall"}))
    async with asyncio.timeout(30):
        while children() <= before:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    running.cancel()
    with takes_less_than(3):
        with pytest.raises(asyncio.CancelledError):
            await running
    assert children() <= before


async def test_concurrent_children_are_limited() -> None:
    before = children()
    running = [asyncio.create_task(answer_of(OBEYS, {"do": "stall"})) for _ in range(6)]
    async with asyncio.timeout(30):
        while len(children() - before) < 4:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    await asyncio.sleep(0)
    assert len(children() - before) == 4
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    assert children() <= before
