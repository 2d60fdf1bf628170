"""Export of sessions as redacted Markdown or JSON, and import of conversations from other programs as history."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import accumulate, islice, takewhile
from typing import IO, Any, NamedTuple

import orjson
from django.core.cache import cache
from django.db import transaction
from django.utils import timezone

from tasks_app.models import ContextEntry, ContextType, Session, Task, TaskState, file_session
from tasks_app.models.errors import Refusal
from tasks_app.record import Draft, append_entries, redactor_of
from tasks_app.record.entry_json import entry_json
from tasks_app.record.item import Item
from tasks_app.record.transcript import items_of
from tasks_app.run import reminders
from tasks_app.run.next_task import title_of
from tasks_app.services.sessions import create_session, require_quota
from tasks_app.text.foreign_chats import MOST_CHATS, OWN_FORMAT, ChatMessage, ForeignChat, chat_of
from tools_app.child_process import NoAnswer, lines_of

PAGE_ENTRIES, PAGE_CHARS = 200, 60_000  # entries and characters per page of messages
MAX_EMPTY_PAGES = 20  # empty pages that are skipped in a row
MAX_IMPORTED_MESSAGES = 20_000  # messages per import
MAX_IMPORT_SECONDS = 600  # seconds until a killed server's import no longer counts as running
TAG = "imported"  # tag in the importer's list
_NAMES = {"user": "User", "assistant": "Assistant"}
_CLOSING_TAG = re.compile(r"</(?=\s*client_history)", re.IGNORECASE)


class ImportRunning(Refusal):
    """Another import of yours is still running. Try again when it has ended."""

    status, retry_after = 429, 10


class NoExport(Refusal):
    """This file cannot be read. Choose an export of ChatGPT (conversations.json, or the archive with it), Open WebUI,
    LibreChat or agentsite."""

    status = 422


# --- out --------------------------------------------------------------------------------------------------------------


def export(session: Session, kind: str) -> tuple[bytes, str]:
    """Return the file's content and name. `kind` is markdown or json."""
    name = re.sub(r"[^\w-]+", "-", redacted_title(session)).strip("-")[:60] or "session"
    return (as_json(session), f"{name}.json") if kind == "json" else (as_markdown(session).encode(), f"{name}.md")


def as_markdown(session: Session) -> str:
    """Return messages and tool calls as Markdown."""
    parts = [f"# {redacted_title(session)}", f"*{session.created_at:%Y-%m-%d %H:%M} UTC*"]
    for item in _items(session):
        parts += _item_markdown(item)
    return "\n\n".join(parts) + "\n"


def _item_markdown(item: Item) -> Iterator[str]:
    for message in _messages_of(item):
        yield f"## {_NAMES[message.role]}\n\n{message.text}"
    if item.entry.context_type == ContextType.TOOL_CALL:
        arguments = json.dumps(item.arguments, ensure_ascii=False, indent=2)
        yield f"### Tool: {item.call['name']}\n\n{_fenced(arguments, 'json')}"
        if item.result is not None:
            yield f"{item.status}:\n\n{_fenced(item.result.content)}"
    if item.entry.context_type == ContextType.STATUS_NOTICE:
        yield f"*{' '.join(item.entry.content.split())}*"


def _fenced(text: str, language: str = "") -> str:
    """Return the text in a code fence that is longer than any fence in the text."""
    longest = max(map(len, re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def as_json(session: Session) -> bytes:
    """Return `entries` in the form of REST, and `messages`, their plain texts, which another server can import."""
    items = _items(session)
    entries = [entry for item in items for entry in (item.entry, item.result) if entry is not None]
    content = {
        "format": OWN_FORMAT,
        "version": 1,
        "title": redacted_title(session),
        "created_at": session.created_at.isoformat(),
        "updated_at": session.updated_at.isoformat(),
        "messages": [
            {"role": message.role, "text": message.text, "at": message.at and message.at.isoformat()}
            for item in items
            for message in _messages_of(item)
        ],
        "entries": [entry_json(entry) for entry in entries],
    }
    return orjson.dumps(content, option=orjson.OPT_INDENT_2)


def redacted_title(session: Session) -> str:
    return redactor_of(session).redacted(str(session))


def messages_page(session: Session, after: int = 0) -> tuple[list[ChatMessage], int | None]:
    """Return a page of redacted messages after an entry, and the entry after which there are more, or None.

    A page is empty if many pages of calls without text follow.
    """
    messages, later = _page(session, after)
    for _ in range(MAX_EMPTY_PAGES):
        if not messages and later is not None:
            messages, later = _page(session, later)
    return messages, later


def _page(session: Session, after: int) -> tuple[list[ChatMessage], int | None]:
    entries = list(ContextEntry.objects.in_session(session).after(after)[: PAGE_ENTRIES + 1])
    sizes = accumulate(len(entry.content) + len(entry.tool_call) for entry in entries[:PAGE_ENTRIES])
    count = max(1, sum(1 for _ in takewhile(lambda size: size <= PAGE_CHARS, sizes)))
    count += count < len(entries) and bool(entries[count].tool_call_id)  # keep a call and its answer together
    messages = [message for item in items_of(session, entries[:count]) for message in _messages_of(item)]
    return messages, entries[count - 1].seq if count < len(entries) else None


def _items(session: Session) -> list[Item]:
    return items_of(session, ContextEntry.objects.in_session(session))


def _messages_of(item: Item) -> Iterator[ChatMessage]:
    """Yield the messages of people and of the agent in an item."""
    entry = item.entry
    if entry.context_type in (ContextType.USER_MESSAGE, ContextType.CLIENT_HISTORY):
        yield ChatMessage("user" if entry.role == "user" else "assistant", item.text, entry.created_at)
    if entry.metadata.get("discarded"):
        return
    if entry.context_type in (ContextType.AI_MESSAGE, ContextType.TOOL_CALL):
        if item.words:
            yield ChatMessage("assistant", item.words, entry.created_at)
        if entry.context_type == ContextType.AI_MESSAGE and item.text and not item.is_refused:
            yield ChatMessage("assistant", item.text, entry.created_at)
    if item.result is not None and item.result.metadata.get("author"):
        yield ChatMessage("user", item.result.content, item.result.created_at)


# --- in ---------------------------------------------------------------------------------------------------------------


class Imported(NamedTuple):
    """The imported sessions. `left_out` counts older conversations that exceed the size of one import."""

    sessions: list[Session]
    left_out: int


@contextmanager
def prepared_import(owner: Any, file: IO[bytes]) -> Iterator[Callable[[], Imported]]:
    """Read a file in a child process; yield the function that stores a session for each conversation, newest first.

    Raises NoExport, ImportRunning or SessionsQuotaFull.
    """
    lock_key = f"import:{owner.pk}"
    if not cache.add(lock_key, True, MAX_IMPORT_SECONDS):
        raise ImportRunning()
    try:
        with lines_of("tasks_app.text.foreign_chats", file) as values:
            yield partial(_import, owner, values)
    except NoAnswer as error:
        raise NoExport() from error
    finally:
        cache.delete(lock_key)


def _import(owner: Any, values: Iterator[Any]) -> Imported:
    lengths: list[int] = next(values)
    totals = accumulate(lengths[:MOST_CHATS])
    count = sum(1 for _ in takewhile(lambda total: total <= MAX_IMPORTED_MESSAGES, totals))
    require_quota(owner, count)  # before any is created: a retry would duplicate the first ones
    return Imported([_import_chat(owner, chat_of(value)) for value in islice(values, count)], len(lengths) - count)


def _import_chat(owner: Any, chat: ForeignChat) -> Session:
    with transaction.atomic():
        session = create_session(owner, title=chat.title.strip() or title_of(chat.messages[0].text))
        empty_result: dict[str, Any] = {"text": "", "data": None, "attachments": [], "suggestions": []}
        task = Task(session=session, started_by=owner, state=TaskState.DONE, final_result=empty_result)
        task.ended_at = timezone.now()
        task.save()
        append_entries(
            session, task, [reminders.imported(chat.origin), *(_draft(chat, message) for message in chat.messages)]
        )
        Session.objects.filter(pk=session.pk).update(updated_at=chat.at or timezone.now())
        file_session(session, owner, tags=f" {TAG} ")
    return session


def _draft(chat: ForeignChat, message: ChatMessage) -> Draft:
    """Return a message as history. Its origin is part of the content, because metadata never shapes a request."""
    text = _CLOSING_TAG.sub("<\\/", message.text)
    return Draft(
        context_type=ContextType.CLIENT_HISTORY,
        given_role=message.role,
        content=f'<client_history origin="{chat.origin}">\n{text}\n</client_history>',
        metadata={"origin": chat.origin, **({"said_at": message.at.isoformat()} if message.at else {})},
    )
