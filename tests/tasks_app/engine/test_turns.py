"""The grouping of entries into turns, on which compaction, forks and replays rely."""

import json
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.record import Turn
from tasks_app.record.turns import TurnKind, group


@dataclass(frozen=True)
class Fake:
    """The fields of an entry that the grouping reads; `number` identifies it."""

    context_type: str
    number: int = 0
    call_id: str = ""
    tool_call_id: str = ""
    role: str = "user"

    @property
    def call(self) -> dict[str, str] | None:
        return {"id": self.call_id, "name": "x", "arguments": json.dumps({})} if self.call_id else None


USER = Fake("user_message")
REMINDER = Fake("system_reminder")
WORKFLOW = Fake("workflow_step")
RETRY = Fake("no_tool_call_retry")
PLAIN = Fake("ai_message")


def called(call_id: str, context_type: str = "tool_call") -> Fake:
    return Fake(context_type, call_id=call_id)


def returned(call_id: str) -> Fake:
    return Fake("tool_result", tool_call_id=call_id)


def shape(entries: list[Fake]) -> list[tuple[str, int]]:
    return [(turn.kind.value, len(turn.entries)) for turn in group(entries)]


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param([USER], [("user", 1)], id="a message"),
        pytest.param([USER, USER], [("user", 1), ("user", 1)], id="two messages"),
        pytest.param([USER, REMINDER], [("user", 2)], id="a message and the reminder that begins its task"),
        pytest.param([USER, REMINDER, WORKFLOW], [("user", 3)], id="a workflow step belongs to what it follows"),
        pytest.param([PLAIN], [("reply", 1)], id="words that were cut short"),
        pytest.param([called("a"), returned("a")], [("call", 2)], id="a call and its result"),
        pytest.param([called("a", "ai_message"), returned("a")], [("call", 2)], id="a call of message"),
        pytest.param(
            [called("a"), returned("a"), REMINDER], [("call", 3)], id="deferred calls are named with the result"
        ),
        pytest.param([called("a"), returned("a"), REMINDER, REMINDER], [("call", 4)], id="several reminders"),
        pytest.param(
            [called("a"), returned("a"), USER], [("call", 2), ("user", 1)], id="an interjection after a result"
        ),
        pytest.param([called("a"), returned("a"), called("b"), returned("b")], [("call", 2)] * 2, id="two calls"),
        pytest.param([RETRY, REMINDER], [("reply", 2)], id="a reply without a call and its reminder"),
        pytest.param([RETRY, REMINDER, RETRY, REMINDER], [("reply", 2)] * 2, id="two replies without a call"),
        pytest.param([USER, called("a")], [("user", 1), ("call", 1)], id="an open call at the end"),
        pytest.param([REMINDER], [("note", 1)], id="a reminder that follows nothing"),
        pytest.param([WORKFLOW, USER], [("note", 1), ("user", 1)], id="a workflow step that follows nothing"),
        pytest.param([PLAIN, USER, REMINDER], [("reply", 1), ("user", 2)], id="an aborted reply and the new message"),
    ],
)
def test_entries_are_grouped_into_turns(entries, expected):
    assert shape(entries) == expected


def test_only_a_call_without_a_result_is_open():
    turns = group([USER, called("a"), returned("a"), called("b")])
    assert [turn.is_open for turn in turns] == [False, False, True]


@pytest.mark.parametrize(
    "entries",
    [
        [returned("a")],
        [USER, returned("a")],
        [called("a"), returned("b")],
        [called("a"), USER, returned("a")],
        [called("a"), REMINDER, returned("a")],
        [called("a"), called("b")],
        [called("a"), returned("a"), returned("a")],
    ],
    ids=["no call", "after a message", "another call's", "message between", "reminder between", "two calls", "twice"],
)
def test_record_that_append_cannot_have_written_is_refused(entries):
    with pytest.raises(ValueError, match="call"):
        group(entries)


@st.composite
def records(draw: Any) -> list[Fake]:
    """Histories as the engine writes them, with or without an open call at the end."""
    entries: list[Fake] = []

    def add(context_type: str, **fields: str) -> None:
        entries.append(Fake(context_type, number=len(entries), **fields))

    for index in range(draw(st.integers(0, 12))):
        match draw(st.sampled_from(["user", "call", "message", "retry", "partial"])):
            case "user":
                add("user_message")
            case "call" | "message" as kind:
                add("tool_call" if kind == "call" else "ai_message", call_id=f"c{index}")
                add("tool_result", tool_call_id=f"c{index}")
            case "retry":
                add("no_tool_call_retry")
            case "partial":
                add("ai_message")
        for _ in range(draw(st.integers(0, 2))):
            add(draw(st.sampled_from(["system_reminder", "workflow_step"])))
    if draw(st.booleans()):
        add("tool_call", call_id="open")
    return entries


@given(records())
def test_grouping_loses_nothing_and_keeps_the_order(entries):
    assert [entry for turn in group(entries) for entry in turn.entries] == entries


@given(records())
def test_a_call_and_its_result_are_never_separated(entries):
    for turn in group(entries):
        calls = {entry.call["id"] for entry in turn.entries if entry.call}
        results = {entry.tool_call_id for entry in turn.entries if entry.tool_call_id}
        assert results <= calls
        assert len(calls) <= 1


@given(records(), records())
def test_groups_are_stable_when_entries_are_appended(first, second):
    before = group(first)
    if before and before[-1].is_open:
        first = [*first, Fake("tool_result", tool_call_id="open")]
        before = group(first)
    after = group([*first, *second])
    assert after[: max(0, len(before) - 1)] == before[:-1]
    if before:
        assert after[len(before) - 1].entries[: len(before[-1].entries)] == before[-1].entries


@given(records())
def test_only_the_last_turn_can_be_open(entries):
    turns: list[Turn[Fake]] = group(entries)
    assert not any(turn.is_open for turn in turns[:-1])
    assert all(turn.kind is TurnKind.CALL for turn in turns if turn.is_open)


@given(records())
def test_a_turn_begins_with_the_entry_of_its_kind(entries):
    for number, turn in enumerate(group(entries)):
        first = turn.entries[0]
        expected = {
            TurnKind.USER: first.context_type == "user_message",
            TurnKind.CALL: first.call is not None,
            TurnKind.REPLY: first.context_type in ("ai_message", "no_tool_call_retry") and first.call is None,
            TurnKind.NOTE: number == 0,
        }
        assert expected[turn.kind]
