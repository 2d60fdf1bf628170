"""Parsers for exported conversations of ChatGPT, Open WebUI, LibreChat and agentsite. Without I/O.

Of a conversation with branches, the most recently open branch is read. Only words of people and models are read, not
tools or hidden prompts.
"""

import io
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import orjson

from tools_app.skills.skill_files import UNREADABLE

MOST_BYTES = 64 * 1024 * 1024  # of a file, packed and unpacked
MOST_CHATS, MOST_MESSAGES = 300, 2_000
MOST_VALUES = 5_000_000  # braces, brackets and commas in a file: a value can take a hundred times its bytes in memory
LONGEST = 200_000  # characters of a message
EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)
OWN_FORMAT = "agentsite-session"


class UnreadableChats(Exception):
    """This file is no export of ChatGPT, Open WebUI, LibreChat or agentsite that can be read."""


@dataclass(frozen=True)
class Said:
    role: Literal["user", "assistant"]
    text: str
    at: datetime | None = None


@dataclass(frozen=True)
class Chat:
    origin: str
    title: str
    messages: list[Said]
    at: datetime | None = None


def answer(request: object, body: bytes) -> Iterator[Any]:
    """Yield the number of messages of each conversation, then the newest conversations. Runs in a child process."""
    chats = read_chats(body)
    yield [len(chat.messages) for chat in chats]
    for chat in chats[:MOST_CHATS]:
        messages = [[said.role, said.text, _written(said.at)] for said in chat.messages]
        yield [chat.origin, chat.title, messages, _written(chat.at)]


def chat_of(value: Any) -> Chat:
    """Return a conversation from the value that `answer` yielded."""
    origin, title, messages, at = value
    return Chat(origin, title, [Said(role, text, _moment(when)) for role, text, when in messages], _moment(at))


def _written(at: datetime | None) -> str | None:
    return at.isoformat() if at else None


def read_chats(data: bytes) -> list[Chat]:
    """Return conversations that have messages, newest first.

    Raises: UnreadableChats.
    """
    try:
        found = list(_chats(_parsed(_unpacked(data))))
    except (ValueError, KeyError, TypeError, AttributeError, *UNREADABLE) as error:
        raise UnreadableChats() from error
    chats = [chat for chat in found if chat.messages]
    if not chats:
        raise UnreadableChats()
    return sorted(chats, key=lambda chat: chat.at or datetime.min.replace(tzinfo=UTC), reverse=True)


def _unpacked(data: bytes) -> bytes:
    """Return the JSON of a file. ChatGPT exports an archive with several files."""
    if len(data) > MOST_BYTES:
        raise UnreadableChats()
    if not data.startswith(b"PK"):
        return data
    with zipfile.ZipFile(io.BytesIO(data)) as archive, archive.open("conversations.json") as file:
        unpacked = file.read(MOST_BYTES + 1)
    if len(unpacked) > MOST_BYTES:
        raise UnreadableChats()
    return unpacked


def _parsed(data: bytes) -> Any:
    if sum(map(data.count, (b"{", b"[", b","))) > MOST_VALUES:
        raise UnreadableChats()
    return orjson.loads(data)


def _chats(value: Any) -> Iterator[Chat]:
    for chat in value if isinstance(value, list) else [value]:
        for is_its, read in _READERS:
            if is_its(chat):
                yield read(chat)
                break


# --- readers by program -----------------------------------------------------------------------------------------------


def _chatgpt(chat: Any) -> Chat:
    nodes = chat["mapping"]
    newest = chat.get("current_node")
    if newest not in nodes:
        leaves = [key for key, node in nodes.items() if not node.get("children")]
        newest = max(leaves, key=lambda key: (nodes[key].get("message") or {}).get("create_time") or 0)
    path = _way_up(nodes, newest, "parent")
    messages = (_of_chatgpt(node["message"]) for node in path if node.get("message"))
    return _chat("ChatGPT", chat, messages, chat.get("update_time") or chat.get("create_time"))


def _of_chatgpt(message: Any) -> Said | None:
    content, hidden = message.get("content") or {}, message.get("metadata") or {}
    if hidden.get("is_visually_hidden_from_conversation") or message.get("recipient", "all") not in ("all", None):
        return None
    if content.get("content_type") not in ("text", "multimodal_text"):
        return None
    parts = [part for part in content.get("parts") or () if isinstance(part, str)]
    return _said(message["author"]["role"], "\n\n".join(filter(None, parts)), message.get("create_time"))


def _open_webui(row: Any) -> Chat:
    chat = row.get("chat", row)
    history = chat.get("history") or {}
    by_id = history.get("messages") or {}
    path = _way_up(by_id, history.get("currentId"), "parentId") if by_id else chat.get("messages") or []
    messages = (_said(one.get("role"), one.get("content"), one.get("timestamp")) for one in path)
    return _chat("Open WebUI", {**chat, **row}, messages, row.get("updated_at") or chat.get("timestamp"))


def _librechat(chat: Any) -> Chat:
    messages = chat.get("messagesTree") or chat.get("messages")
    if chat.get("recursive") or any(one.get("children") for one in messages):
        path, level = [], messages
        while level:
            path.append(level[-1])
            level = level[-1].get("children")
    else:
        by_id = {one["messageId"]: one for one in messages}
        path = _way_up(by_id, messages[-1]["messageId"] if messages else None, "parentMessageId")
    said = (_of_librechat(one) for one in path)
    return _chat("LibreChat", chat, said, chat.get("exportAt") or chat.get("updatedAt"))


def _of_librechat(message: Any) -> Said | None:
    parts = [part for part in message.get("content") or () if isinstance(part, dict) and part.get("type") == "text"]
    texts = [part["text"].get("value") if isinstance(part["text"], dict) else part["text"] for part in parts]
    words = message.get("text") or "\n\n".join(filter(None, texts))
    return _said("user" if message.get("isCreatedByUser") else "assistant", words, message.get("createdAt"))


def _own(chat: Any) -> Chat:
    messages = (_said(one["role"], one["text"], one.get("at")) for one in chat["messages"])
    return _chat("agentsite", chat, messages, chat.get("updated_at"))


_READERS: tuple[tuple[Callable[[Any], bool], Callable[[Any], Chat]], ...] = (
    (lambda chat: chat.get("format") == OWN_FORMAT, _own),
    (lambda chat: "mapping" in chat, _chatgpt),
    (lambda chat: "conversationId" in chat, _librechat),
    (lambda chat: "chat" in chat or "history" in chat, _open_webui),
)


# --- shared by the readers --------------------------------------------------------------------------------------------


def _way_up(nodes: Mapping[str, Any], leaf: str | None, parent: str) -> list[Any]:
    """Return the nodes from the root to the leaf. A cycle ends the path."""
    path: dict[str, Any] = {}
    while leaf is not None and leaf in nodes and leaf not in path:
        path[leaf] = nodes[leaf]
        leaf = nodes[leaf].get(parent)
    return list(path.values())[::-1]


def _said(role: Any, text: Any, at: Any) -> Said | None:
    if role not in ("user", "assistant") or not isinstance(text, str) or not text.strip():
        return None
    return Said(role, text.strip()[:LONGEST], _moment(at))


def _chat(origin: str, chat: Any, messages: Iterable[Said | None], at: Any) -> Chat:
    said = [one for one in messages if one is not None][:MOST_MESSAGES]
    title = chat.get("title")
    return Chat(origin, title if isinstance(title, str) else "", said, _moment(at) or next((m.at for m in said), None))


def _moment(value: Any) -> datetime | None:
    """Return the time of a value in seconds or milliseconds since 1970, or in ISO 8601.

    Return None for an impossible time, as some time zones cannot show it.
    """
    try:
        if isinstance(value, str):
            read = datetime.fromisoformat(value)
            read = read if read.tzinfo else read.replace(tzinfo=UTC)
        else:
            read = datetime.fromtimestamp(value / 1000 if value > 1e11 else value, UTC)
    except (ValueError, TypeError, OverflowError, OSError):
        return None
    return read if EARLIEST <= read <= datetime.now(UTC) else None
