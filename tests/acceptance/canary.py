"""Fifty secrets of many shapes, all forms in which they can appear, and listeners to all output of a server."""

import asyncio
import base64
import html
import http.cookiejar
import json
import random
import re
import sqlite3
import string
import threading
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import lru_cache
from pathlib import Path

import aiohttp

from tests.server import PASSWORD, TOKEN, Server

LEAST = 12  # bytes of a form: shorter ones would match by chance
_random = random.Random(20)


def secrets() -> dict[str, str]:
    """Return secrets by name: tokens, passwords with all special characters, multi-line keys, other scripts."""
    made = {}
    for number in range(50):
        core = "".join(_random.choices(string.ascii_letters + string.digits, k=18))
        value = [
            f"ghp_{core}",
            f"{core[:9]}\"'\\<&>$(id) %{core[9:]}",
            f"{core}AAAA\n{core[::-1]}BBBB\n  {core.lower()}==",
            f"pässwörd-→{core}",
            f"a.*[{core}](x|y)+?^$",
        ][number % 5]
        made[f"S{number}"] = value
    return made


@lru_cache
def forms(value: str) -> frozenset[bytes]:
    """Return all forms of a secret, written independently of the redactor to find forms that it forgot."""
    found = set()
    for piece in {value, *value.splitlines()}:
        dumped = {json.dumps(piece)[1:-1], json.dumps(piece, ensure_ascii=False)[1:-1]}
        escaped = {html.escape(piece), html.escape(piece, quote=False), html.escape(json.dumps(piece)[1:-1])}
        urls = {urllib.parse.quote(piece, safe=""), urllib.parse.quote(piece), urllib.parse.quote_plus(piece)}
        twice = {json.dumps(each)[1:-1] for each in dumped}
        data = piece.encode()
        packed = {data.hex().encode(), data.hex().upper().encode()}
        for before in range(3):
            packed.add(base64.b64encode(b"x" * before + data)[4 if before else 0 : -4])
        found |= {each.encode() for each in {piece, *dumped, *twice, *escaped, *urls}} | packed
    return frozenset(form for form in found if len(form) >= LEAST)


def hits(places: dict[str, bytes], values: dict[str, str]) -> list[str]:
    """Return the hits as `place: name`. All forms are searched together first, because hits are rare."""
    whole = b"\0".join(places.values())
    found = [(name, form) for name, value in values.items() for form in forms(value) if form in whole]
    return sorted({f"{place}: {name}" for name, form in found for place, text in places.items() if form in text})


# --- possible outlets of a secret -------------------------------------------------------------------------------


def tables(var: Path) -> dict[str, bytes]:
    """Return each table of the database as text."""
    with closing(sqlite3.connect(var / "agentsite.sqlite3")) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {
            name: "\n".join(
                str(value) for row in connection.execute(f'SELECT * FROM "{name}"') for value in row
            ).encode()
            for name in names
        }


def files(var: Path) -> dict[str, bytes]:
    """Return the files in var/ after a checkpoint, without workspaces: tools may be ordered to write secrets there."""
    with closing(sqlite3.connect(var / "agentsite.sqlite3")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    outside = ("workspaces", "versions")
    paths = [path for path in var.rglob("*") if path.is_file() and path.relative_to(var).parts[0] not in outside]
    return {str(path.relative_to(var)): path.read_bytes() for path in paths}


class Person:
    """A user who is signed in as in a browser."""

    def __init__(self, server: Server) -> None:
        self._server, self._cookies = server, http.cookiejar.CookieJar()
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self._cookies))
        login = f"{server.base_url}/accounts/login/"
        (token,) = re.findall('csrfmiddlewaretoken" value="([^"]+)"', self._opener.open(login).read().decode())
        form = {"login": "admin", "password": PASSWORD, "csrfmiddlewaretoken": token}
        self._opener.open(urllib.request.Request(login, urllib.parse.urlencode(form).encode(), {"Referer": login}))

    def page(self, path: str) -> bytes:
        return bytes(self._opener.open(f"{self._server.base_url}{path}", timeout=20).read())

    @property
    def headers(self) -> dict[str, str]:
        cookies = "; ".join(f"{cookie.name}={cookie.value}" for cookie in self._cookies)
        return {"Cookie": cookies, "Origin": self._server.base_url}


@contextmanager
def listening(server: Server, person: Person, session: str) -> Iterator[dict[str, bytearray]]:
    """Collect the messages of the websocket and the server-sent events within the block."""
    heard = {"websocket": bytearray(), "events": bytearray()}
    loop = asyncio.new_event_loop()

    async def listen() -> None:
        async with aiohttp.ClientSession() as client:
            await asyncio.gather(follow_page(client), follow_events(client))

    async def follow_page(client: aiohttp.ClientSession) -> None:
        url = f"{server.base_url}/ws/sessions/{session}/"
        async with client.ws_connect(url, headers=person.headers, max_msg_size=0) as socket:
            async for frame in socket:
                heard["websocket"] += str(frame.data).encode() + b"\n"

    async def follow_events(client: aiohttp.ClientSession) -> None:
        url = f"{server.base_url}/api/v1/sessions/{session}/events/"
        async with client.get(url, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=None) as answer:
            async for chunk in answer.content.iter_any():
                heard["events"] += chunk

    listener = loop.create_task(listen())

    def run() -> None:
        try:
            loop.run_until_complete(listener)
        except asyncio.CancelledError:
            return

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield heard
    finally:
        loop.call_soon_threadsafe(listener.cancel)
        thread.join(10)
