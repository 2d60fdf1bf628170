"""Rebuilding the exact bytes of a request from the data that its log refers to. Needs neither secrets nor
providers.
"""

import hashlib
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Sequence
from functools import lru_cache

from llm_app import stored_prompt
from llm_app.adapters import RouteParameters
from llm_app.models import Blob, LLMLog
from llm_app.protocols import adapter_of
from llm_app.redaction import LoggedSpan, with_spans
from llm_app.types import Message, Prompt, ToolSpec
from tasks_app.models import ContextEntry, Session
from tasks_app.record import cut

_BATCH_SIZE = 500  # addresses per query


class NotRebuilt(Exception):
    """A part of the request is no longer in the record."""


class Blobs:
    def __init__(self) -> None:
        self._texts: dict[str, str] = {"": ""}

    def text(self, address: str) -> str:
        """Return a blob's content. Raises NotRebuilt if it was deleted."""
        self.load([address])
        if address not in self._texts:
            raise NotRebuilt(f"the blob {address[:12]} is gone")
        return self._texts[address]

    def load(self, addresses: Collection[str]) -> dict[str, str]:
        """Return the existing blobs by address."""
        missing = [address for address in set(addresses) if address not in self._texts]
        for start in range(0, len(missing), _BATCH_SIZE):
            blobs = Blob.objects.filter(pk__in=missing[start : start + _BATCH_SIZE])
            self._texts |= dict(blobs.values_list("sha256", "content"))
        return {address: self._texts[address] for address in addresses if address in self._texts}


class SessionRequests:
    """The requests of a session. Each entry is serialized once for all of them, as when they were sent.

    `entries` are the ones in the context, oldest first.
    """

    def __init__(self, entries: Sequence[ContextEntry]) -> None:
        self._entries = entries
        self._seqs = [entry.seq for entry in entries]
        self._blobs = Blobs()
        self._messages_by_cut: dict[tuple[int, str], list[Message]] = {}
        self._redacted: dict[
            tuple[int, str], tuple[Message, Message]
        ] = {}  # the original is kept alive, because its id is the key

    @classmethod
    def for_session(cls, session: Session) -> "SessionRequests":
        return cls(list(ContextEntry.objects.in_session(session).in_context().defer("metadata")))

    @classmethod
    def for_one(cls, log: LLMLog) -> "SessionRequests":
        """Load only the entries that this call needs."""
        entries = ContextEntry.objects.filter(session=log.session_id, seq__gt=log.cut_seq, seq__lte=log.last_seq)
        return cls(list(entries.in_context().order_by("seq").defer("metadata")) if log.last_seq else [])

    def body(self, log: LLMLog) -> bytes:
        """Return the request's bytes. Raises NotRebuilt."""
        try:
            adapter = adapter_of(log.adapter, log.adapter_version)
        except KeyError:
            raise NotRebuilt(f"{log.adapter} in version {log.adapter_version} is not known here") from None
        try:
            return adapter.body(self.prompt(log), RouteParameters.from_json(log.parameters))
        except (ValueError, KeyError, TypeError) as error:  # the data was changed by hand
            raise NotRebuilt(f"what it refers to cannot be read ({type(error).__name__})") from error

    def prompt(self, log: LLMLog) -> Prompt:
        """Return the prompt as it was sent, with the placeholders of secrets. Raises NotRebuilt."""
        if not log.system_blob:
            raise NotRebuilt("its prompt was not kept")
        return Prompt(
            system=self._blobs.text(log.system_blob),
            tools=_tools(self._blobs.text(log.tools_blob)),
            messages=self._with_placeholders(self._messages(log), log.masked_spans),
        )

    def _messages(self, log: LLMLog) -> Sequence[Message]:
        if log.messages_blob:
            text = self._blobs.text(log.messages_blob)
            return stored_prompt.load_messages(text, self._pictures(stored_prompt.picture_addresses(text)))
        if log.last_seq and (not self._seqs or log.last_seq > self._seqs[-1]):
            raise NotRebuilt(f"entry {log.last_seq} is missing")
        messages = self._messages_after(log)
        after, until = (bisect_right(self._seqs, seq) for seq in (log.cut_seq, log.last_seq))
        return messages[: len(messages) - (len(self._seqs) - max(after, until))]

    def _messages_after(self, log: LLMLog) -> list[Message]:
        """Return all messages after this cut, to the end of the record. A request has the first ones of them."""
        key = (log.cut_seq, log.compacted_blob)
        if key not in self._messages_by_cut:
            entries = self._entries[bisect_right(self._seqs, log.cut_seq) :]
            pictures = self._pictures([picture["sha256"] for entry in entries for picture in entry.pictures])
            loaded_cut = cut.Cut.from_text(log.cut_seq, self._blobs.text(log.compacted_blob))
            self._messages_by_cut[key] = cut.messages_of(loaded_cut, entries, pictures)
        return self._messages_by_cut[key]

    def _pictures(self, addresses: Sequence[str]) -> dict[str, str]:
        pictures = self._blobs.load(addresses)
        if len(pictures) < len(set(addresses)):
            raise NotRebuilt("a picture is gone")
        return pictures

    def _with_placeholders(self, messages: Sequence[Message], spans: Sequence[LoggedSpan]) -> Sequence[Message]:
        if not spans:
            return messages
        by_seq: defaultdict[int, list[LoggedSpan]] = defaultdict(list)
        for span in spans:
            by_seq[span[0]].append(span)
        return [self._redacted_once(message, by_seq[message.seq]) for message in messages]

    def _redacted_once(self, message: Message, spans: Sequence[LoggedSpan]) -> Message:
        """Return the same object for the same placeholders, so that it is serialized only once."""
        if not spans:
            return message
        key = (id(message), repr(spans))
        if key not in self._redacted:
            self._redacted[key] = (message, with_spans(message, spans))
        return self._redacted[key][1]


def is_as_sent(log: LLMLog, body: bytes) -> bool:
    return hashlib.sha256(body).hexdigest() == log.request_sha256


@lru_cache(maxsize=64)
def _tools(text: str) -> tuple[ToolSpec, ...]:
    return stored_prompt.load_tools(text) if text else ()
