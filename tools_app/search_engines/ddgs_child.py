"""The program that uses the library ddgs in a child process (`ddgs`): it blocks, and sends its own requests."""

from collections.abc import Mapping
from typing import Any

# The engines that are asked. docs/security.md lists their hosts.
_BACKENDS = {"text": "duckduckgo, brave, mojeek", "news": "duckduckgo, yahoo", "images": "duckduckgo, bing"}
_TIMEOUT_S = 8  # for each round of engines


def answer(request: Mapping[str, Any], body: bytes) -> dict[str, Any]:
    """Return the results, or the library's error.

    {"category", "query", "timelimit", "count"} → {"results"} or {"error"}
    """
    from ddgs import DDGS
    from ddgs.exceptions import DDGSException

    category = request["category"]
    try:
        results = getattr(DDGS(timeout=_TIMEOUT_S), category)(
            request["query"],
            timelimit=request["timelimit"] or None,
            max_results=request["count"],
            backend=_BACKENDS[category],
        )
    except DDGSException as error:
        return {"error": str(error)}
    return {"results": results}
