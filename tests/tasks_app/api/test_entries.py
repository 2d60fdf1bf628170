"""Entries of the record over REST."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_app.types import Thinking, ToolCall
from tasks_app.api.entries import EntrySerializer
from tasks_app.models import ContextType
from tasks_app.record import Draft, notice
from tasks_app.record.draft import result
from tasks_app.record.entry_json import _arguments
from tests import factories


@pytest.fixture
def entries(alices, session):
    def read(query: str = "") -> list[dict]:
        return alices.call("GET", f"sessions/{session.pk}/entries/{query}").json()["results"]

    return read


def test_entry_has_exactly_the_documented_fields(task, entries):
    (entry,) = entries()
    assert entry.pop("created_at").endswith("Z")
    assert entry == {
        "seq": 1,
        "context_type": "user_message",
        "in_context": True,
        "role": "user",
        "content": "Please.",
        "thinking": "",
        "tool_call": None,
        "tool_call_id": None,
        "images": [],
        "metadata": {},
        "task": str(task.pk),
    }


def test_serializer_has_the_same_fields(task, entries):
    assert set(EntrySerializer().fields) == set(entries()[0])


def test_call_has_its_arguments_as_an_object(task, entries):
    call = ToolCall(id="call_1", name="shell", arguments='{"command": "ls"}')
    thinking = Thinking(text="I look.", protocol="p", model="m", blocks=({"signature": "s"},))
    factories.append(
        task,
        Draft(context_type=ContextType.TOOL_CALL, content="Let me look.", tool_call=call, thinking=thinking),
        result("call_1", "a.txt", "succeeded"),
        notice("The provider was slow."),
    )
    called, answered, said = entries("?after=1")
    assert called["tool_call"] == {"id": "call_1", "name": "shell", "arguments": {"command": "ls"}}
    assert (called["thinking"], called["content"], called["tool_call_id"]) == ("I look.", "Let me look.", None)
    assert (answered["tool_call_id"], answered["metadata"]["status"]) == ("call_1", "succeeded")
    assert (said["context_type"], said["in_context"], said["role"]) == ("status_notice", False, "system")


@pytest.mark.parametrize(
    "text",
    ["{", "[1]", "5", "null", '{"a": NaN}', '{"a": 1e999}', '{"a": "\\ud800"}', '{"a":' + "[" * 999 + "]" * 999 + "}"],
)
def test_invalid_arguments_stay_text(text, task, entries):
    factories.append(
        task,
        Draft(context_type=ContextType.TOOL_CALL, tool_call=ToolCall(id="call_1", name="shell", arguments=text)),
    )
    assert entries("?after=1")[0]["tool_call"]["arguments"] == text


@given(st.text())
def test_any_arguments_can_be_serialized(text):
    assert isinstance(_arguments(text), str | dict)


def test_pages_contain_every_entry_once_in_order(task, alices, session):
    factories.append(task, *(notice(f"n{number}") for number in range(2, 12)))
    seqs, path = [], f"sessions/{session.pk}/entries/?limit=4&after=2"
    while path:
        page = alices.call("GET", path).json()
        seqs += [entry["seq"] for entry in page["results"]]
        path = page["next"] and page["next"].partition("/api/v1/")[2]
    assert seqs == list(range(3, 12))


def test_no_entries_follow_the_last_one(task, entries):
    assert entries("?after=1") == []
    assert entries("?after=2147483647") == []
