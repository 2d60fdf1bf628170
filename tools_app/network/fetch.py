"""HTTP requests with limits on destination, duration and size."""

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
class FetchedResponse:
    """A response.

    `url` is the address after redirects. `content_type` and `charset` come from the headers, '' if they are missing.
    `truncated` means that the body was longer.
    """

    url: str
    status: int
    content_type: str
    charset: str
    body: bytes
    truncated: bool
    retry_after: float = 0  # seconds requested by the server


@dataclass(frozen=True, kw_only=True)
class OutgoingRequest:
    """A request to a service that an administrator has set up. The body is `json` or `body`, unless both are None."""

    url: str
    method: str = "GET"
    params: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    json: Any = None
    body: bytes | None = None


async def send(request: OutgoingRequest, policy: NetworkPolicy, *, max_bytes: int, timeout_s: float) -> FetchedResponse:
    """Send a request without following redirects.

    Raises: AddressRefused, FetchFailed
    """
    url = check_url(request.url, policy)
    async with (
        _fetch_session(policy, timeout_s) as session,
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
        return await _read_response(response, max_bytes)


async def fetch(
    url: str, policy: NetworkPolicy, *, max_bytes: int, timeout_s: float, headers: Mapping[str, str] | None = None
) -> FetchedResponse:
    """Send a GET request, follow up to 5 redirects and read up to `max_bytes` of the unpacked body.

    `timeout_s` is the limit in seconds for all of this. `headers` are only sent to the host of `url`. Any HTTP status
    counts as a response.

    Raises: AddressRefused, FetchFailed
    """
    async with _fetch_session(policy, timeout_s) as session:
        return await _get_following_redirects(session, check_url(url, policy), policy, max_bytes, headers or {})


@asynccontextmanager
async def _fetch_session(policy: NetworkPolicy, timeout_s: float) -> "AsyncIterator[aiohttp.ClientSession]":
    """Yield a session whose errors become FetchFailed."""
    import aiohttp  # 6 MB, so not before the first request

    from tools_app.network.connections import http_session

    try:
        async with asyncio.timeout(timeout_s), http_session(policy) as session:
            yield session
    except TimeoutError as error:
        raise FetchFailed(f"No complete answer within {timeout_s:g} seconds.") from error
    except (aiohttp.ClientError, OSError) as error:
        raise FetchFailed(f"The request failed: {str(error) or type(error).__name__}") from error


async def _get_following_redirects(
    session: "aiohttp.ClientSession", url: URL, policy: NetworkPolicy, max_bytes: int, headers: Mapping[str, str]
) -> FetchedResponse:
    for _ in range(MAX_REDIRECTS + 1):
        async with session.get(url, headers=headers, allow_redirects=False) as response:
            location = response.headers.get("Location")
            if response.status not in _REDIRECTS or not location:
                return await _read_response(response, max_bytes)
        following = check_url(str(url.join(parse_url(location))), policy)
        if policy.leads_to_sandbox(following) and not policy.leads_to_sandbox(url):
            raise AddressRefused(f"{url.host} leads to the session's own sandbox, where no page of the web may lead.")
        if following.origin() != url.origin():
            headers = {}
        url = following
    raise FetchFailed(f"More than {MAX_REDIRECTS} redirects.")


async def _read_response(response: "aiohttp.ClientResponse", max_bytes: int) -> FetchedResponse:
    body = bytearray()
    async for chunk in response.content.iter_any():  # small unpacked chunks, so a bomb only grows as far as we read
        body += chunk
        if len(body) > max_bytes:
            break
    return FetchedResponse(
        url=str(response.url),
        status=response.status,
        content_type=response.content_type if "Content-Type" in response.headers else "",
        charset=response.charset or "",
        body=bytes(body[:max_bytes]),
        truncated=len(body) > max_bytes,
        retry_after=float(retry_after) if (retry_after := response.headers.get("Retry-After", "")).isdecimal() else 0,
    )
