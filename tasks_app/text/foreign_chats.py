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

from tools_app.skills import ARCHIVE_ERRORS

MOST_BYTES = 64 * 1024 * 1024  # of a file, packed and unpacked
MOST_CHATS, MOST_MESSAGES = 300, 2_000
MOST_VALUES = 5_000_000  # braces, brackets and commas in a file: a value can take a hundred times its bytes in memory
LONGEST = 200_000  # characters of a message
EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)
OWN_FORMAT = "agentsite-session"


class UnreadableChats(Exception):
    """This file is no export of ChatGPT, Open WebUI, LibreChat or agentsite that can be read."""


@dataclass(frozen=True)
class ChatMessage:
    role: Literal["user", "assistant"]
    text: str
    at: datetime | None = None


@dataclass(frozen=True)
class ForeignChat:
    origin: str
    title: str
    messages: list[ChatMessage]
    at: datetime | None = None


def answer(request: object, body: bytes) -> Iterator[Any]:
    """Yield the number of messages of each conversation, then the newest conversations. Runs in a child process."""
    chats = read_chats(body)
    yield [len(chat.messages) for chat in chats]
    for chat in chats[:MOST_CHATS]:
        messages = [[message.role, message.text, _iso_format(message.at)] for message in chat.messages]
        yield [chat.origin, chat.title, messages, _iso_format(chat.at)]


def chat_of(value: Any) -> ForeignChat:
    """Return a conversation from the value that `answer` yielded."""
    origin, title, messages, at = value
    chat_messages = [ChatMessage(role, text, _parsed_time(time)) for role, text, time in messages]
    return ForeignChat(origin, title, chat_messages, _parsed_time(at))


def _iso_format(at: datetime | None) -> str | None:
    return at.isoformat() if at else None


def read_chats(data: bytes) -> list[ForeignChat]:
    """Return conversations that have messages, newest first.

    Raises: UnreadableChats.
    """
    try:
        unpacked = _unpacked(data)
        if sum(map(unpacked.count, (b"{", b"[", b","))) > MOST_VALUES:
            raise UnreadableChats()
        chats = list(_read_all(orjson.loads(unpacked)))
    except (ValueError, KeyError, TypeError, AttributeError, *ARCHIVE_ERRORS) as error:
        raise UnreadableChats() from error
    chats = [chat for chat in chats if chat.messages]
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


def _read_all(value: Any) -> Iterator[ForeignChat]:
    for chat in value if isinstance(value, list) else [value]:
        for is_format, read in _READERS:
            if is_format(chat):
                yield read(chat)
                break


# --- readers by program -----------------------------------------------------------------------------------------------


def _read_chatgpt(chat: Any) -> ForeignChat:
    nodes = chat["mapping"]
    newest = chat.get("current_node")
    if newest not in nodes:
        leaves = [key for key, node in nodes.items() if not node.get("children")]
        newest = max(leaves, key=lambda key: (nodes[key].get("message") or {}).get("create_time") or 0)
    path = _path_to(nodes, newest, "parent")
    messages = (_chatgpt_message(node["message"]) for node in path if node.get("message"))
    return _chat("ChatGPT", chat, messages, chat.get("update_time") or chat.get("create_time"))


def _chatgpt_message(message: Any) -> ChatMessage | None:
    content, hidden = message.get("content") or {}, message.get("metadata") or {}
    if hidden.get("is_visually_hidden_from_conversation") or message.get("recipient", "all") not in ("all", None):
        return None
    if content.get("content_type") not in ("text", "multimodal_text"):
        return None
    parts = [part for part in content.get("parts") or () if isinstance(part, str)]
    return _message(message["author"]["role"], "\n\n".join(filter(None, parts)), message.get("create_time"))


def _read_open_webui(row: Any) -> ForeignChat:
    chat = row.get("chat", row)
    history = chat.get("history") or {}
    by_id = history.get("messages") or {}
    path = _path_to(by_id, history.get("currentId"), "parentId") if by_id else chat.get("messages") or []
    messages = (_message(message.get("role"), message.get("content"), message.get("timestamp")) for message in path)
    return _chat("Open WebUI", {**chat, **row}, messages, row.get("updated_at") or chat.get("timestamp"))


def _read_librechat(chat: Any) -> ForeignChat:
    messages = chat.get("messagesTree") or chat.get("messages")
    if chat.get("recursive") or any(message.get("children") for message in messages):
        path, level = [], messages
        while level:
            path.append(level[-1])
            level = level[-1].get("children")
    else:
        by_id = {message["messageId"]: message for message in messages}
        path = _path_to(by_id, messages[-1]["messageId"] if messages else None, "parentMessageId")
    parsed_messages = (_librechat_message(message) for message in path)
    return _chat("LibreChat", chat, parsed_messages, chat.get("exportAt") or chat.get("updatedAt"))


def _librechat_message(message: Any) -> ChatMessage | None:
    parts = [part for part in message.get("content") or () if isinstance(part, dict) and part.get("type") == "text"]
    texts = [part["text"].get("value") if isinstance(part["text"], dict) else part["text"] for part in parts]
    text = message.get("text") or "\n\n".join(filter(None, texts))
    return _message("user" if message.get("isCreatedByUser") else "assistant", text, message.get("createdAt"))


def _read_agentsite(chat: Any) -> ForeignChat:
    messages = (_message(message["role"], message["text"], message.get("at")) for message in chat["messages"])
    return _chat("agentsite", chat, messages, chat.get("updated_at"))


_READERS: tuple[tuple[Callable[[Any], bool], Callable[[Any], ForeignChat]], ...] = (
    (lambda chat: chat.get("format") == OWN_FORMAT, _read_agentsite),
    (lambda chat: "mapping" in chat, _read_chatgpt),
    (lambda chat: "conversationId" in chat, _read_librechat),
    (lambda chat: "chat" in chat or "history" in chat, _read_open_webui),
)


# --- shared by the readers --------------------------------------------------------------------------------------------


def _path_to(nodes: Mapping[str, Any], leaf: str | None, parent: str) -> list[Any]:
    """Return the nodes from the root to the leaf. A cycle ends the path."""
    path: dict[str, Any] = {}
    while leaf is not None and leaf in nodes and leaf not in path:
        path[leaf] = nodes[leaf]
        leaf = nodes[leaf].get(parent)
    return list(path.values())[::-1]


def _message(role: Any, text: Any, at: Any) -> ChatMessage | None:
    if role not in ("user", "assistant") or not isinstance(text, str) or not text.strip():
        return None
    return ChatMessage(role, text.strip()[:LONGEST], _parsed_time(at))


def _chat(origin: str, chat: Any, messages: Iterable[ChatMessage | None], at: Any) -> ForeignChat:
    kept_messages = [message for message in messages if message is not None][:MOST_MESSAGES]
    title = chat.get("title") if isinstance(chat.get("title"), str) else ""
    first_at = kept_messages[0].at if kept_messages else None
    return ForeignChat(origin, title, kept_messages, _parsed_time(at) or first_at)


def _parsed_time(value: Any) -> datetime | None:
    """Return the time of a value in seconds or milliseconds since 1970, or in ISO 8601.

    Return None for an impossible time, as some time zones cannot show it.
    """
    try:
        if isinstance(value, str):
            time = datetime.fromisoformat(value)
            time = time if time.tzinfo else time.replace(tzinfo=UTC)
        else:
            time = datetime.fromtimestamp(value / 1000 if value > 1e11 else value, UTC)
    except (ValueError, TypeError, OverflowError, OSError):
        return None
    return time if EARLIEST <= time <= datetime.now(UTC) else None
