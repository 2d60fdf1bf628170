"""An item of the session page: an entry of the record with its result, log and file changes."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

import orjson
from django.template.loader import select_template
from django.utils.translation import gettext

from llm_app.models import LLMLog, Route
from tasks_app.models import (
    REFUSED,
    Approval,
    CallStatus,
    ContextEntry,
    ContextType,
    Decision,
    Task,
    ToolCallLog,
    WorkspaceChange,
)
from tasks_app.record import call_json, delegated

LONGEST_LINE = 160  # characters
MAX_PREVIEW_CHARS = 300  # characters of arguments and result before the card is opened
MOST_PORTS = 3  # per call
MAX_NAMES = 3  # files named in a line
_PORT = re.compile(
    r"(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\]|sandbox|\bport|http\.server):?[\s=]?\s*(\d{2,5})\b", re.IGNORECASE
)
_EMBEDDED_PICTURE = re.compile(r"!\[[^\[\]\n]{0,300}+\]\(<?(?:\./)?([^)<>?#\s]{1,300}+)")
_AMISS = (CallStatus.FAILED, CallStatus.BLOCKED, CallStatus.UNKNOWN)
_TOOL_NAME = re.compile(r"[A-Za-z][\w-]*", re.ASCII)  # a model may write any name, also a path


@dataclass(frozen=True, kw_only=True)
class Item:
    """An entry and its related objects, loaded beforehand: properties never query.

    `result` and `log` belong to the entry's call. `failed_call` is the LLM call that a notice reports, and
    `failed_route` its route. `change` lists the files that the call changed, with their `count` and first paths.
    `children` are the tasks that the call delegated.
    """

    entry: ContextEntry
    result: ContextEntry | None = None
    log: ToolCallLog | None = None
    failed_call: LLMLog | None = None
    failed_route: Route | None = None
    change: WorkspaceChange | None = None
    children: Sequence[Task] = ()

    @cached_property
    def id(self) -> str:
        return f"e{self.entry.seq}"

    @property
    def seq(self) -> int:
        """The newest entry that the item shows, from which a page resumes."""
        return self.result.seq if self.result else self.entry.seq

    @property
    def template(self) -> str:
        return f"chat/entries/_{self.entry.context_type}.html"

    @property
    def stream(self) -> str:
        """The id of the live bubble that the item replaces."""
        return str(self.entry.metadata.get("stream", ""))

    @property
    def is_discarded(self) -> bool:
        """Return whether this is the beginning of an interrupted answer."""
        return bool(self.entry.metadata.get("discarded"))

    @property
    def steps(self) -> list[dict[str, Any]]:
        """The calls of the task that ends with this answer, and their outcomes."""
        return list(self.entry.metadata.get("steps", ()))

    @property
    def failure(self) -> str:
        """The code of the task's failure."""
        return str(self.entry.metadata.get("code", ""))

    @property
    def can_branch(self) -> bool:
        """Return whether a person can fork the session at this entry."""
        kinds = (ContextType.USER_MESSAGE, ContextType.AI_MESSAGE, ContextType.TOOL_CALL)
        return self.entry.context_type in kinds and self.entry.in_context

    # --- messages -----------------------------------------------------------------------------------------------

    @cached_property
    def text(self) -> str:
        """The text of a message as people read it."""
        if self.entry.context_type == ContextType.USER_MESSAGE:
            # Without the lines that list its files: the page shows links instead.
            content, attached = self.entry.content, self.entry.metadata.get("attachments")
            return content.partition(f"\n\n[attached file: {attached[0]}")[0] if attached else content
        if self.entry.context_type == ContextType.CLIENT_HISTORY:
            return self.entry.content.partition("\n")[2].removesuffix("\n</client_history>")
        text = self.arguments.get("text") or self.arguments.get("note", "")  # the note of a blocked workflow step
        return str(text) if self.entry.has_call else self.entry.content

    @cached_property
    def words(self) -> str:
        """The text next to a call, without repeating the message itself. Empty if the call was withheld."""
        if not self.entry.has_call or self._is_withheld:
            return ""
        text, message = self.entry.content.strip(), self.text.strip()
        if self.entry.context_type != ContextType.AI_MESSAGE:
            return text
        is_repeated = " ".join(text.split()) in " ".join(message.split())
        return "" if is_repeated else text.removesuffix(message).rstrip()

    @property
    def _is_withheld(self) -> bool:
        """Return whether the call is a refused message. With an output filter, every refused call counts: it may be
        unfiltered.
        """
        if self.entry.metadata.get("output_filter"):
            return self.is_refused
        is_message = self.entry.context_type == ContextType.AI_MESSAGE
        return is_message and self.status in (CallStatus.BLOCKED, CallStatus.REJECTED)

    @cached_property
    def kind(self) -> str:
        """The type of a message: info, ask or result. Empty for text without a call."""
        return str(self.arguments.get("type", "")) if self.entry.has_call else ""

    @property
    def attachments(self) -> list[str]:
        """The attached files, without pictures that the text shows already."""
        paths = _texts(self.arguments.get("attachments") or self.entry.metadata.get("attachments"))
        shown = set(map(unquote, _EMBEDDED_PICTURE.findall(self.text))) if paths else set()
        return [path for path in paths if path not in shown]

    @property
    def options(self) -> list[str]:
        return _texts(self.arguments.get("options"))

    @property
    def suggestions(self) -> list[str]:
        return _texts(self.arguments.get("suggestions"))

    @property
    def data(self) -> str:
        """The structured data of an answer, as JSON."""
        data = self.arguments.get("data")
        if isinstance(data, str):  # some models write JSON as a string
            return data
        return "" if data is None else orjson.dumps(data, option=orjson.OPT_INDENT_2).decode()

    # --- calls --------------------------------------------------------------------------------------------------

    @cached_property
    def call(self) -> dict[str, Any]:
        return call_json(self.entry) or {"id": "", "name": "", "arguments": {}}

    @cached_property
    def arguments(self) -> dict[str, Any]:
        """The arguments by name, as the model wrote them."""
        arguments = self.call["arguments"]
        return arguments if isinstance(arguments, dict) else {"arguments": arguments}

    @property
    def exact_arguments(self) -> dict[str, Any]:
        """All arguments that the tool runs with, to which an approval is bound."""
        arguments: dict[str, Any] = (
            orjson.loads(self.log.arguments) if self.log and self.log.arguments else self.arguments
        )
        return arguments

    @property
    def card(self) -> str:
        """The template of the call's card: the tool's own or the common one."""
        return _card_template(delegated.TOOL_NAME if self.children else self.call["name"])

    @property
    def change_names(self) -> str:
        """The names of the files that the call changed."""
        change = self.change
        return named_files(change.first_paths, change.further_paths) if change else ""

    @property
    def patched_files(self) -> list[str]:
        """The paths that the result of a patch lists."""
        return _texts(self.result.metadata.get("paths")) if self.result else []

    @property
    def patch(self) -> str:
        """The text of a patch as the model wrote it, unless the result shows the change."""
        is_patch = self.arguments.get("action") == "patch" and not (self.result and self.result.metadata.get("diff"))
        return str(self.arguments.get("content") or "") if is_patch else ""

    @property
    def is_long(self) -> bool:
        """Return whether the card's content is loaded only when the card is opened."""
        if self.result is None:
            return False
        content = f"{self.entry.tool_call}{self.result.content}{self.result.metadata.get('diff', '')}"
        return len(content) > MAX_PREVIEW_CHARS

    @property
    def line(self) -> str:
        """The arguments in one line."""
        values = [str(value) for value in self.arguments.values() if type(value) in (str, int, float)]
        short_values = [value for value in values if len(value) <= LONGEST_LINE and "\n" not in value]
        return " ".join(" ".join(short_values or values).split())[:LONGEST_LINE]

    @property
    def status(self) -> str:
        if self.result:
            return str(self.result.metadata.get("status", ""))
        if self.log is None:
            return CallStatus.PENDING
        if self.children and self.log.status == CallStatus.WAITING:  # its children are working
            return CallStatus.STARTED
        is_about_to_run = self.approval is not None and self.approval.decision == Decision.APPROVED
        return CallStatus.STARTED if is_about_to_run else self.log.status

    @property
    def exit_code(self) -> int:
        """The exit code of a command that ended by itself; 0 for any other call."""
        metadata = self.result.metadata if self.result and self.status == CallStatus.SUCCEEDED else {}
        return int(metadata.get("exit_code") or 0)

    @property
    def has_found_nothing(self) -> bool:
        """Return whether a command printed nothing and ended with 1, as a search without a match does."""
        return self.exit_code == 1 and self.result is not None and self.result.content.startswith("[exit code 1")

    @property
    def is_amiss(self) -> bool:
        """Return whether the call failed, was refused, has an unknown outcome, or is a command that failed."""
        return self.status in _AMISS or (self.exit_code != 0 and not self.has_found_nothing)

    @property
    def has_run(self) -> bool:
        """Return whether the tool did its work. A killed command counts."""
        has_succeeded = self.status == CallStatus.SUCCEEDED or bool(self.children)
        return has_succeeded or (self.result is not None and "exit_code" in self.result.metadata)

    @property
    def ports(self) -> list[int]:
        """The ports that listened when a background command was started or read.

        If none listened yet, the ports that its command line or its output names.
        """
        metadata = self.result.metadata if self.result else {}
        if ports := metadata.get("ports"):
            return [int(port) for port in ports[:MOST_PORTS]]
        if self.result is None or "job" not in metadata:
            return []
        text = f"{self.arguments.get('command', '')}\n{self.result.content}"
        return list(dict.fromkeys(port for port in map(int, _PORT.findall(text)) if 0 < port < 65536))[:MOST_PORTS]

    @property
    def is_refused(self) -> bool:
        """Return whether the call was invalid, failed, or was refused by a hook or a person. A refused message was not
        sent.
        """
        return self.status in REFUSED

    @property
    def is_question(self) -> bool:
        """Return whether the call waits for a person's answer."""
        return self.result is None and self.status == CallStatus.WAITING

    @property
    def approval(self) -> Approval | None:
        return getattr(self.log, "approval", None)

    @property
    def is_open(self) -> bool:
        """Return whether the entry is a call without a result."""
        return self.entry.has_call and self.result is None

    @property
    def needs_approval(self) -> bool:
        return self.result is None and self.approval is not None and self.approval.decision == Decision.PENDING

    @property
    def pictures(self) -> list[str]:
        """The paths of the pictures in the call's result."""
        return [picture["path"] for picture in self.result.pictures] if self.result else []


def named_files(paths: Sequence[str], more: int = 0) -> str:
    """Return the path of one file, or the names of several without their folders. `more` files are only counted."""
    if len(paths) == 1 and not more:
        return paths[0]
    names = [PurePosixPath(path).name for path in paths]
    listed = ", ".join((names if len(set(names)) == len(names) else list(paths))[:MAX_NAMES])
    more += max(0, len(paths) - MAX_NAMES)
    return gettext("{} and {} more").format(listed, more) if more else listed


@lru_cache(maxsize=256)
def _card_template(name: str) -> str:
    """Return the card's template name. Cached: a failed template lookup takes as long as rendering a small one."""
    templates = [f"chat/tools/{name}.html"] if _TOOL_NAME.fullmatch(name) else []
    return str(select_template([*templates, "chat/tools/_card.html"]).template.name)


def _texts(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []
