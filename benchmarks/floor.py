"""The floor: the barest loop that still streams and stores each entry durably (aiohttp, SQLite in WAL mode, JSON)."""

import asyncio
import json
import sqlite3
from pathlib import Path

import aiohttp

from benchmarks.provider import Gaps, Provider

_TOOL = {"type": "function", "function": {"name": "message", "parameters": {"type": "object", "properties": {}}}}


def run(provider: Provider, steps: int, folder: Path) -> Gaps:
    provider.reset()
    asyncio.run(_converse(provider, steps, folder / f"floor-{steps}.sqlite3"))
    return provider.gaps()


async def _converse(provider: Provider, steps: int, path: Path) -> None:
    database = sqlite3.connect(path, isolation_level=None)
    database.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL")
    database.execute("CREATE TABLE IF NOT EXISTS entry (body TEXT)")
    messages: list[dict[str, object]] = [{"role": "user", "content": "go"}]
    async with aiohttp.ClientSession() as session:
        while True:
            body = {"model": f"loop-{steps}", "stream": True, "tools": [_TOOL], "messages": messages}
            data = json.dumps(body, separators=(",", ":")).encode()
            async with session.post(f"{provider.base_url}/v1/chat/completions", data=data) as response:
                call = _fold([line async for line in response.content])
            turn = [
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": call["id"], "content": "ok"},
            ]
            messages += turn
            database.executemany("INSERT INTO entry VALUES (?)", [(json.dumps(entry),) for entry in turn])
            if '"result"' in call["function"]["arguments"]:
                return


def _fold(lines: list[bytes]) -> dict[str, dict[str, str]]:
    call: dict[str, dict[str, str]] = {}
    for line in lines:
        if not line.startswith(b"data: {"):
            continue
        for delta in json.loads(line[6:])["choices"][0]["delta"].get("tool_calls", []):
            if "id" in delta:
                call = delta
            else:
                call["function"]["arguments"] += delta["function"]["arguments"]
    return call
