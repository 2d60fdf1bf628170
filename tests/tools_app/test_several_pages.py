"""The tool `fetch_url` reads several addresses in one call, at the same time, in fair parts of a page."""

import asyncio
import re
from dataclasses import replace

import pytest
from aiohttp import web

from tests.tools_app.conftest import Call
from tests.tools_app.test_fetch_url_tool import serving
from tests.waiting import takes_less_than
from tools_app.contract import ToolContext, registry
from tools_app.errors import InvalidArguments
from tools_app.network import NetworkPolicy
from tools_app.tools.fetch_url import FetchURLArguments


@pytest.fixture
def tool_context(tool_context: ToolContext) -> ToolContext:
    return replace(tool_context, network=NetworkPolicy(allow_internal=frozenset({"127.0.0.1"})))


async def page(request: web.Request) -> web.Response:
    name = request.path.strip("/")
    if name == "missing":
        raise web.HTTPNotFound()
    if name.startswith("slow"):
        await asyncio.sleep(1)
    return web.Response(text=f"{name} " * (3_000 if name.startswith("long") else 3), content_type="text/plain")


async def test_pages_are_fetched_at_the_same_time_and_headed_in_order(call: Call) -> None:
    async with serving(page) as server:
        urls = [str(server.make_url(f"/{name}")) for name in ("slow1", "b", "slow2", "slow3")]
        with takes_less_than(2.5):
            result = await call("fetch_url", urls=urls)
    assert re.findall("==> (.*) <==", result.content) == urls
    assert result.content.count("<web_page url=") == 4
    assert "slow3 slow3 slow3" in result.content


async def test_a_failing_address_does_not_fail_the_others(call: Call) -> None:
    async with serving(page) as server:
        good, missing = (str(server.make_url(f"/{name}")) for name in ("a", "missing"))
        result = await call("fetch_url", url=good, urls=[missing, "http://10.0.0.1/", "file:///etc/passwd"])
        failed = await call("fetch_url", urls=[missing, "http://10.0.0.1/"])
    assert (result.status, failed.status) == ("succeeded", "failed")
    parts = re.split("==> .* <==\n", result.content)[1:]
    assert "a a a" in parts[0]
    assert "answered with HTTP status 404" in parts[1]
    assert "web_page" not in parts[1] + parts[2] + parts[3]


async def test_short_pages_leave_their_part_to_long_ones(tool_context: ToolContext) -> None:
    async with serving(page) as server:
        urls = [str(server.make_url(f"/{name}")) for name in ("long1", "short", "long2")]
        context = replace(tool_context, page_bytes=9_000)
        result = await registry.get("fetch_url").handler(FetchURLArguments(urls=urls), context)
        assert len(result.content.encode()) <= 9_000
        first, short, second = re.split("==> .* <==\n", result.content)[1:]
        assert "Next page" not in short
        for part, url in ((first, urls[0]), (second, urls[2])):
            assert len(part) > 3_000
            offset = int(re.search(rf'Next page: fetch_url\(url="{url}", offset=(\d+)\)', part)[1])  # type: ignore[index]
        asked = FetchURLArguments(url=urls[2], offset=offset)
    rest = await registry.get("fetch_url").handler(asked, context)
    assert "long2 long2" in rest.content, "from the cache: the server is gone"


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({}, "url: name an address"),
        ({"urls": []}, "url: name an address"),
        ({"urls": [f"http://a.example/{n}" for n in range(6)]}, "urls: "),
        ({"urls": ["http://a.example/"], "offset": 3}, "belong to one url"),
    ],
)
async def test_the_number_of_addresses_is_bounded(call: Call, arguments: dict[str, object], fault: str) -> None:
    with pytest.raises(InvalidArguments, match=fault):
        await call("fetch_url", **arguments)


async def test_one_address_of_a_list_is_read_as_usual(call: Call) -> None:
    async with serving(page) as server:
        url = str(server.make_url("/a"))
        for arguments in ({"urls": [url, url]}, {"urls": url}, {"url": [url]}, {"links": [url]}):
            result = await call("fetch_url", **arguments)
            assert result.content.startswith("<web_page")
