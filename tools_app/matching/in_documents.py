"""Goes on with a search in the documents that it found: PDF, Office, OpenDocument, EPUB, e-mail, notebooks."""

import asyncio
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from tools_app.child_process.parent import ChildLimits, NoAnswer, answer_of
from tools_app.documents.reader import MOST_BYTES
from tools_app.errors import ToolError
from tools_app.files import Workspace
from tools_app.matching.patterns import Answer, Query
from tools_app.matching.tree import Unsearched
from tools_app.paging import size

_SECONDS = 20  # for all of them
_EACH_S = 10  # for those of one process
_TOGETHER = 10  # documents in one process, which takes as long to start as to read one
_MOST_TOGETHER = 50 * 1000**2  # bytes of them
_COMPLEX = "too large or too complex"


async def search_documents(query: Query, found: Answer, workspace: Workspace) -> Answer:
    """`found`, and what the documents that it names hold; those that cannot be searched are named with the reason."""
    search = _Search(query, found, workspace)
    for paths in _groups(found.documents):
        await search.add(paths)
    return search.answer()


def _groups(paths: Sequence[str]) -> Iterator[Sequence[str]]:
    for begin in range(0, len(paths), _TOGETHER):
        yield paths[begin : begin + _TOGETHER]


class _Search:
    """What was found so far."""

    def __init__(self, query: Query, found: Answer, workspace: Workspace) -> None:
        self._query, self._found, self._workspace = query, found, workspace
        self._end = time.monotonic() + _SECONDS
        self._unsearched = Unsearched()
        self._room = query.room - sum(size(line) + 1 for line in found.lines)

    async def add(self, paths: Sequence[str]) -> None:
        """Together, as long as they are not too many bytes; where one of them breaks the process, one by one."""
        documents: list[tuple[str, bytes]] = []
        for path in paths:
            data = await asyncio.to_thread(self._read, path)
            if documents and sum(len(other) for _, other in documents) + len(data) > _MOST_TOGETHER:
                await self._search(documents)
                documents = []
            documents += [(path, data)] if data else []
        await self._search(documents)

    def answer(self) -> Answer:
        return replace(self._found, documents=(), unsearched=[*self._found.unsearched, *self._unsearched.lines()])

    def _read(self, path: str) -> bytes:
        try:
            return self._workspace.read_bytes(path, MOST_BYTES)
        except ToolError:
            self._unsearched.add(path, f"over {MOST_BYTES // 1000**2} MB, or not readable")
            return b""

    async def _search(self, documents: Sequence[tuple[str, bytes]]) -> None:
        left = self._end - time.monotonic()
        if left <= 0 or not documents:
            for path, _ in documents:
                self._unsearched.add(path, "no time was left: name it in path")
            return
        try:
            self._take(await self._said(documents, left))
        except NoAnswer:
            for document in documents if len(documents) > 1 else ():
                await self._search([document])
            if len(documents) == 1:
                self._unsearched.add(documents[0][0], _COMPLEX)

    async def _said(self, documents: Sequence[tuple[str, bytes]], seconds: float) -> dict[str, Any]:
        request = {
            "pattern": self._query.pattern,
            "flags": int(re.IGNORECASE) if self._query.ignore_case else 0,
            "context": self._query.context,
            "first": max(1, self._query.offset - self._found.total),
            "room": max(self._room, 0),
            "documents": [(path, len(data)) for path, data in documents],
        }
        limits = ChildLimits(wall_s=min(seconds, _EACH_S))
        body = b"".join(data for _, data in documents)
        said: dict[str, Any] = await answer_of("tools_app.matching.document_child", request, body, limits=limits)
        return said

    def _take(self, said: dict[str, Any]) -> None:
        """One match is shown in any case, but not where others are: then it begins the next page."""
        used = sum(size(line) + 1 for line in said["lines"])
        fits = used <= self._room or not self._found.lines
        self._found = replace(
            self._found,
            lines=[*self._found.lines, *(said["lines"] if fits else ())],
            shown=self._found.shown + (said["shown"] if fits else 0),
            total=self._found.total + said["total"],
        )
        self._room = self._room - used if fits else 0
        for path, reason in said["unreadable"]:
            self._unsearched.add(path, reason.rstrip(".").replace("It is", "it is", 1))
