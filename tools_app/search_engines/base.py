"""The base of adapters: an adapter defines the request to its engine and reads the results from the answer."""

import json
from collections.abc import Iterable
from typing import Any, ClassVar

from tools_app.contract import Engine
from tools_app.errors import ToolError
from tools_app.network import NetworkPolicy, OutgoingRequest
from tools_app.network.fetch import send
from tools_app.search_engines.query import SearchQuery, SearchResult

TIMEOUT_S = 15
_MAX_BYTES = 4 * 1024**2
_HINTS = {
    401: "its key is refused",
    402: "its account has no credit left",
    403: "it refuses the request: its key, or a setting of it",
    422: "its key or the request is refused",
    429: "too many requests",
    432: "its plan is used up",  # Tavily
}


class SearchFailed(ToolError):
    """The search engine did not return a usable answer."""


class SearchAdapter:
    """The adapter of one kind of engine."""

    kind: ClassVar[str]
    base_url: ClassVar[str] = ""
    needs_key: ClassVar[bool] = True

    async def ask(self, query: SearchQuery, engine: Engine, policy: NetworkPolicy) -> list[SearchResult]:
        """Return the engine's results, best first.

        Raises: ToolError.
        """
        request = self.request(query, engine.base_url.rstrip("/") or self.base_url, engine.api_key)
        policy = policy.with_host_of(engine.base_url) if engine.base_url else policy
        fetched = await send(request, policy, max_bytes=_MAX_BYTES, timeout_s=TIMEOUT_S)
        if fetched.status != 200:
            hint = _HINTS.get(fetched.status, "it has a fault" if fetched.status >= 500 else "")
            raise SearchFailed(f"HTTP {fetched.status}, {hint}" if hint else f"HTTP {fetched.status}")
        try:
            answer = json.loads(fetched.body)
        except (ValueError, RecursionError) as error:
            raise SearchFailed("its answer is no JSON") from error
        return [result for result in self.results(answer) if result]

    def request(self, query: SearchQuery, base_url: str, key: str) -> OutgoingRequest:
        """Return the request of the search.

        Raises: SearchFailed if the engine has no search of this type.
        """
        raise NotImplementedError

    def results(self, answer: Any) -> Iterable[SearchResult | None]:
        """Yield the results in an answer. Its shape is untrusted."""
        raise NotImplementedError


def items(answer: Any, *path: str) -> list[dict[str, Any]]:
    """Return the objects of the list at `path`, or [] if there is no list."""
    for name in path:
        answer = answer.get(name) if isinstance(answer, dict) else None
    return [item for item in answer if isinstance(item, dict)] if isinstance(answer, list) else []
