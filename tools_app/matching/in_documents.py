"""The search in documents that a file search has found: PDF, Office, OpenDocument, EPUB, e-mail, notebooks."""

import asyncio
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tools_app.child_process.parent import ChildLimits, NoAnswer, answer_of
from tools_app.documents.reader import MOST_BYTES
from tools_app.errors import ToolError
from tools_app.files import Workspace
from tools_app.matching.patterns import MatchRequest, MatchResult
from tools_app.matching.tree import UnsearchedFiles
from tools_app.paging import size

_TOTAL_S = 20  # for all documents
_PROCESS_S = 10  # for the documents of one process
_BATCH_DOCUMENTS = 10  # documents in one process; starting it takes as long as reading one
_BATCH_BYTES = 50 * 1000**2  # bytes of these documents
_COMPLEX = "too large or too complex"


async def search_documents(query: MatchRequest, result: MatchResult, workspace: Workspace) -> MatchResult:
    """Search the documents named in `result` and add their matches. Name unreadable documents with the reason."""
    search = _DocumentSearch(query, result, workspace)
    for begin in range(0, len(result.documents), _BATCH_DOCUMENTS):
        await search.add(result.documents[begin : begin + _BATCH_DOCUMENTS])
    return search.answer()


class _DocumentSearch:
    """The search with its results so far."""

    def __init__(self, query: MatchRequest, result: MatchResult, workspace: Workspace) -> None:
        self._query, self._result, self._workspace = query, result, workspace
        self._end = time.monotonic() + _TOTAL_S
        self._unsearched = UnsearchedFiles()
        self._room = query.room - sum(size(line) + 1 for line in result.lines)

    async def add(self, paths: Sequence[str]) -> None:
        """Search documents together within a byte limit. If one breaks the process, search them one by one."""
        documents: list[tuple[str, bytes]] = []
        for path in paths:
            data = await asyncio.to_thread(self._read, path)
            if documents and sum(len(content) for _, content in documents) + len(data) > _BATCH_BYTES:
                await self._search(documents)
                documents = []
            documents += [(path, data)] if data else []
        await self._search(documents)

    def answer(self) -> MatchResult:
        return replace(self._result, documents=(), unsearched=[*self._result.unsearched, *self._unsearched.lines()])

    def _read(self, path: str) -> bytes:
        try:
            return self._workspace.read_bytes(path, MOST_BYTES)
        except ToolError:
            self._unsearched.add(path, f"over {MOST_BYTES // 1000**2} MB, or not readable")
            return b""

    async def _search(self, documents: Sequence[tuple[str, bytes]]) -> None:
        remaining = self._end - time.monotonic()
        if remaining <= 0 or not documents:
            for path, _ in documents:
                self._unsearched.add(path, "no time was left: name it in path")
            return
        try:
            self._add_results(await self._run_child(documents, remaining))
        except NoAnswer:
            if len(documents) == 1:
                self._unsearched.add(documents[0][0], _COMPLEX)
                return
            for document in documents:
                await self._search([document])

    async def _run_child(self, documents: Sequence[tuple[str, bytes]], seconds: float) -> dict[str, Any]:
        request = {
            "pattern": self._query.pattern,
            "flags": int(re.MULTILINE | (re.IGNORECASE if self._query.ignore_case else 0)),
            "context": self._query.context,
            "first": max(1, self._query.offset - self._result.total_matches),
            "room": max(self._room, 0),
            "documents": [(path, len(data)) for path, data in documents],
        }
        limits = ChildLimits(wall_s=min(seconds, _PROCESS_S))
        body = b"".join(data for _, data in documents)
        answer: dict[str, Any] = await answer_of("tools_app.matching.document_child", request, body, limits=limits)
        return answer

    def _add_results(self, answer: dict[str, Any]) -> None:
        """Add the results of a child process.

        Its first match is shown, even if there is no room, unless other lines are. Then it starts the next page.
        """
        used = sum(size(line) + 1 for line in answer["lines"])
        fits = used <= self._room or not self._result.lines
        self._result = replace(
            self._result,
            lines=[*self._result.lines, *(answer["lines"] if fits else ())],
            shown_matches=self._result.shown_matches + (answer["shown"] if fits else 0),
            total_matches=self._result.total_matches + answer["total"],
        )
        self._room = self._room - used if fits else 0
        for path, reason in answer["unreadable"]:
            self._unsearched.add(path, reason.rstrip(".").replace("It is", "it is", 1))
