"""Stands in for the library ddgs: the query says what it does."""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parents[1] / "search_answers" / "ddgs.json"


def answer(request: Mapping[str, Any], body: bytes) -> dict[str, Any]:
    if "stall" in request["query"]:
        time.sleep(60)
    if "nothing" in request["query"]:
        return {"error": "No results found."}
    if "offline" in request["query"]:
        return {"error": "DNSError: DNSError('error sending request for url (https://html.duckduckgo.com/html/)')"}
    answer: dict[str, Any] = json.loads(RECORDED.read_text())
    answer["results"][0]["body"] = json.dumps(dict(request))
    return answer
