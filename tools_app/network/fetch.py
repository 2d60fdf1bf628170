"""One request with checks and limits: on its destination, its duration and its size."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from yarl import URL

from tools_app.errors import AddressRefused, FetchFailed
from tools_app.network.policy import NetworkPolicy, check_url, parse_url

if TYPE_CHECKING:
    import aiohttp

MAX_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)


@dataclass(frozen=True, kw_only=True)
class Fetched:
    """An answer. `url` is where the last redirect led; `charset` and `content_type` are what the server says of it,
    empty if it says nothing; `truncated` means that the body went on."""

    url: str
    status: int
    content_type: str
    charset: str
    body: bytes
    truncated: bool
    retry_after: float = 0  # seconds that the server asks for


@dataclass(frozen=True, kw_only=True)
class Outgoing:
    """A request to a service that an administrator has set up. `json` or `body` is its body, if it is not None."""

    url: str
    method: str = "GET"
    params: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    json: Any = None
    body: bytes | None = None


async def send(request: Outgoing, policy: NetworkPolicy, *, max_bytes: int, timeout_s: float) -> Fetched:
    """Sends it as it is; a redirect is an answer like any other. Raises AddressRefused, FetchFailed."""
    url = check_url(request.url, policy)
    async with (
        _guarded(policy, timeout_s) as session,
        session.request(
            request.method,
            url,
            params=request.params,
            headers=request.headers,
            json=request.json,
            data=request.body,
            allow_redirects=False,
        ) as response,
    ):
        return await _read(response, max_bytes)


async def fetch(
    url: str, policy: NetworkPolicy, *, max_bytes: int, timeout_s: float, headers: Mapping[str, str] | None = None
) -> Fetched:
    """A GET. Follows up to 5 redirects and reads up to `max_bytes` of the unpacked body, in `timeout_s` seconds in all.

    `headers` are for the host of `url` and go to no other. Any HTTP status is an answer. Raises AddressRefused,
    FetchFailed.
    """
    async with _guarded(policy, timeout_s) as session:
        return await _follow(session, check_url(url, policy), policy, max_bytes, headers or {})


@asynccontextmanager
async def _guarded(policy: NetworkPolicy, timeout_s: float) -> "AsyncIterator[aiohttp.ClientSession]":
    """A session whose faults are FetchFailed."""
    import aiohttp  # 6 MB, not before the first request

    from tools_app.network.connections import http_session

    try:
        async with asyncio.timeout(timeout_s), http_session(policy) as session:
            yield session
    except TimeoutError as error:
        raise FetchFailed(f"No complete answer within {timeout_s:g} seconds.") from error
    except (aiohttp.ClientError, OSError) as error:
        raise FetchFailed(f"The request failed: {str(error) or type(error).__name__}") from error


async def _follow(
    session: "aiohttp.ClientSession", url: URL, policy: NetworkPolicy, max_bytes: int, headers: Mapping[str, str]
) -> Fetched:
    for _ in range(MAX_REDIRECTS + 1):
        async with session.get(url, headers=headers, allow_redirects=False) as response:
            location = response.headers.get("Location")
            if response.status not in _REDIRECTS or not location:
                return await _read(response, max_bytes)
        following = check_url(str(url.join(parse_url(location))), policy)
        if policy.leads_to_sandbox(following) and not policy.leads_to_sandbox(url):
            raise AddressRefused(f"{url.host} leads to the session's own sandbox, where no page of the web may lead.")
        if following.origin() != url.origin():
            headers = {}
        url = following
    raise FetchFailed(f"More than {MAX_REDIRECTS} redirects.")


async def _read(response: "aiohttp.ClientResponse", max_bytes: int) -> Fetched:
    body = bytearray()
    async for chunk in response.content.iter_any():  # unpacked in small pieces: a bomb is only as large as we read it
        body += chunk
        if len(body) > max_bytes:
            break
    return Fetched(
        url=str(response.url),
        status=response.status,
        content_type=response.content_type if "Content-Type" in response.headers else "",
        charset=response.charset or "",
        body=bytes(body[:max_bytes]),
        truncated=len(body) > max_bytes,
        retry_after=float(after) if (after := response.headers.get("Retry-After", "")).isdecimal() else 0,
    )
