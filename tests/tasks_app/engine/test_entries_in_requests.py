"""The form of each entry type in requests is fixed: any other form would break every replay.

If it must change, the old form stays for the logs that have it, as with an adapter's version.
"""

import pytest

from llm_app.types import Message, Thinking, ToolCall
from tasks_app.models import ContextEntry
from tasks_app.record import message_of

CALL = '{"id":"call_1","name":"shell","arguments":"{\\"command\\": \\"ls\\"}"}'
THINKING = '{"text":"Hm.","protocol":"anthropic","model":"m","blocks":[{"signature":"s"}]}'


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"context_type": "user_message", "content": "Go."}, {"role": "user", "content": "Go."}),
        (
            {"context_type": "tool_call", "content": "So:", "tool_call": CALL, "thinking": THINKING},
            {
                "role": "assistant",
                "content": "So:",
                "tool_call": ToolCall(id="call_1", name="shell", arguments='{"command": "ls"}'),
                "thinking": Thinking(text="Hm.", protocol="anthropic", model="m", blocks=({"signature": "s"},)),
            },
        ),
        ({"context_type": "ai_message", "content": "Cut"}, {"role": "assistant", "content": "Cut"}),
        ({"context_type": "no_tool_call_retry", "content": "Hi"}, {"role": "assistant", "content": "Hi"}),
        (
            {"context_type": "tool_result", "content": "a.txt", "tool_call_id": "call_1"},
            {"role": "tool", "content": "a.txt", "tool_call_id": "call_1"},
        ),
        (
            {"context_type": "system_reminder", "content": "Today."},
            {"role": "user", "content": "<system_reminder>\nToday.\n</system_reminder>"},
        ),
        (
            {"context_type": "workflow_step", "content": "Look."},
            {"role": "user", "content": "<workflow_step>\nLook.\n</workflow_step>"},
        ),
        (
            {"context_type": "handoff", "content": "Yours."},
            {"role": "user", "content": "<handoff>\nYours.\n</handoff>"},
        ),
    ],
)
def test_each_entry_type_becomes_its_message(fields: dict[str, str], message: dict[str, object]) -> None:
    entry = ContextEntry(seq=7, in_context=True, masked_with="v", **fields)
    assert message_of(entry) == Message(**{"seq": 7, "masked_with": "v"} | message)


def test_entries_outside_the_context_are_no_messages() -> None:
    with pytest.raises(ValueError, match="entry 7"):
        message_of(ContextEntry(seq=7, in_context=False, context_type="status_notice"))
