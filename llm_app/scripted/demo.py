"""The model `demo`: a guided tour as a real task with real tools, for servers without a key."""

import json
from typing import Any

from llm_app.scripted.conversation import ScriptedConversation
from llm_app.scripted.reply import ScriptedCall, ScriptedReply

PACE = 0.012  # seconds between two fragments
REPORT = "report.md"
_MAKE_DRAFTS = "mkdir -p drafts && truncate -s 11M drafts/scan.raw"  # too large for the history of files
_STEPS = ("Look around", "Write a small report", "Ask what else it needs", "Tidy up and hand over")


def next_reply(conversation: ScriptedConversation) -> ScriptedReply:
    """Return the tour's next reply to a session's first message, or a short explanation to later messages."""
    user_messages = conversation.user_messages()
    if len(user_messages) != 1:
        return _later_reply(user_messages[-1][1] if user_messages else "")
    position, request = user_messages[0]
    tour = [step for step in _TOUR if step.__name__.removeprefix("_").split("_")[0] in conversation.tools]
    number = conversation.turns_after(position)
    return tour[number](request, conversation.last_result()) if number < len(tour) else _later_reply(request)


def _plan_work(request: str, last: str) -> ScriptedReply:
    steps = [{"title": title, "status": "pending" if n else "in_progress"} for n, title in enumerate(_STEPS)]
    return _call(
        "plan",
        {"action": "update", "steps": steps},
        thinking=f"The person wrote: “{_short(request)}”. I am the demo, so I show what the machine can do: "
        "plan, write a file, ask, run a command, wait for an approval, and answer.",
    )


def _message_hello(request: str, last: str) -> ScriptedReply:
    return _call(
        "message",
        {
            "type": "info",
            "text": "Hello! No model provider is set up yet, so **I am a scripted demo**. All that follows is real: a "
            "real task, real tools, a real workspace. I begin with a small report.",
        },
    )


def _file_write(request: str, last: str) -> ScriptedReply:
    report = f"# Report\n\nYou asked for: {_short(request)}\n\nThe `file` tool wrote this file into your workspace.\n"
    return _call("file", {"action": "write", "path": REPORT, "content": report}, thinking="First the report itself.")


def _message_ask(request: str, last: str) -> ScriptedReply:
    question = "The report is written. Shall I add a line about this computer?"
    return _call("message", {"type": "ask", "text": question, "options": ["Yes, please", "No, leave it"]})


def _shell_describe(request: str, last: str) -> ScriptedReply:
    if "no" in last.lower().split(",")[0].split():
        command = f"wc -c {REPORT} && {_MAKE_DRAFTS}"
        return _call("shell", {"command": command}, thinking="Left as it is; I only measure it.")
    command = f"printf '\\nWritten on %s.\\n' \"$(uname -sr)\" >> {REPORT} && cat {REPORT} && {_MAKE_DRAFTS}"
    return _call("shell", {"command": command}, thinking="A shell command in the sandbox adds the line.")


def _shell_tidy(request: str, last: str) -> ScriptedReply:
    return _call(
        "shell",
        {"command": "rm -rf drafts && ls"},
        thinking="The history keeps no large files, so this deletion cannot be undone: it waits for an approval.",
    )


def _plan_advance(request: str, last: str) -> ScriptedReply:
    return _call("plan", {"action": "advance"})


def _plan_done(request: str, last: str) -> ScriptedReply:
    steps = [{"title": title, "status": "done"} for title in _STEPS]
    return _call("plan", {"action": "update", "steps": steps})


def _message_result(request: str, last: str) -> ScriptedReply:
    text = (
        f"That was the tour. The report is in the workspace as `{REPORT}`; administrators find the record of this task "
        "in the admin.\n\n"
        "| you saw | what it is |\n| --- | --- |\n"
        "| the plan beside the chat | the `plan` tool |\n"
        "| the question | `message` of type ask: it waits, also over a restart |\n"
        "| the approval | a call judged dangerous, bound to its exact arguments |\n\n"
        "For a real model, paste an API key on the first page; an administrator may add providers of any kind."
    )
    suggestions = ["Who answers me here?"]
    return _call("message", {"type": "result", "text": text, "attachments": [REPORT], "suggestions": suggestions})


_TOUR = (
    *(_plan_work, _message_hello, _plan_advance, _file_write, _plan_advance),
    *(_message_ask, _shell_describe, _plan_advance, _shell_tidy, _plan_done, _message_result),
)


def _later_reply(request: str) -> ScriptedReply:
    text = (
        f"You wrote: “{_short(request)}”. I am only the demo provider and play one tour, in the first message of a "
        "session. Start a new session to see it again, or set `OPENAI_API_KEY` or `ANTHROPIC_API_KEY` for a real model."
    )
    return _call("message", {"type": "result", "text": text})


def _call(name: str, arguments: dict[str, Any], thinking: str = "") -> ScriptedReply:
    call = ScriptedCall(name=name, arguments=json.dumps(arguments, ensure_ascii=False))
    return ScriptedReply(thinking=thinking, calls=(call,), pace=PACE)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 200 else line[:199] + "…"
