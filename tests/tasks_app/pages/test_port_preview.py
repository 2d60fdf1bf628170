"""Previews of servers in the sandbox: access, and what is passed on in either direction."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import Permission
from django.urls import reverse

from tasks_app.models import ContextEntry
from tasks_app.pages import markdown, preview, preview_exchange
from tasks_app.pages.preview_exchange import _Rewriter
from tasks_app.record.item import Item
from tasks_app.runtime import process
from tools_app.errors import PortUnreachable

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = b"<!doctype html><html><head><title>x</title></head><body><img src='/a.png'><a href=//b>b</a></body></html>"


class Served:
    """A server that answers every request with `answer`. `heard` is the request that it received."""

    def __init__(self) -> None:
        self.answer = b""
        self.heard = b""
        self.port = 0

    def says(self, body: bytes, *fields: str, status: str = "200 OK", kind: str = "text/html") -> None:
        head = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *fields]
        self.answer = "\r\n".join([*head, "", ""]).encode() + body

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heard = await reader.readuntil(b"\r\n\r\n")
        writer.write(self.answer)
        await writer.drain()
        writer.close()


@asynccontextmanager
async def serving(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Served]:
    served = Served()
    served.says(PAGE)
    async with await asyncio.start_server(served.take, "127.0.0.1", 0) as server:
        served.port = server.sockets[0].getsockname()[1]

        async def connect(session: str, port: int) -> Any:
            if port != 5000:
                raise PortUnreachable(f"Nothing listens on port {port} in the sandbox.")
            return await asyncio.open_connection("127.0.0.1", served.port)

        monkeypatch.setattr(preview, "connect", connect)
        yield served


def address(session: Any, user: Any, path: str = "", port: int = 5000) -> str:
    link = preview.PreviewLink(user=user.pk, session=str(session.pk), port=port)
    return reverse("port_proxy", args=[link.token, path])


async def body_of(response: Any) -> bytes:
    if not response.streaming:
        return bytes(response.content)
    body = b"".join([part async for part in response])
    response.close()
    return body


class TestAccess:
    def test_frame_needs_access_to_the_session(self, client: Any, session: Any, bob: Any, charlie: Any) -> None:
        page = reverse("port", args=[session.pk, 5000])
        assert client.get(page).status_code == 302
        client.force_login(charlie)
        assert client.get(page).status_code == 404
        client.force_login(bob)
        assert b'sandbox="allow-scripts allow-forms"' in client.get(page).content
        assert client.get(reverse("port", args=[session.pk, 70000])).status_code == 404

    async def test_access_is_checked_for_each_request(
        self, async_client: Any, session: Any, bob: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with serving(monkeypatch):
            place = address(session, bob)
            assert await body_of(await async_client.get(place))
            assert (await async_client.post(place)).status_code == 403  # a reader sends nothing that changes things
            await session.memberships.filter(user=bob).adelete()
            assert (await async_client.get(place)).status_code == 404

    async def test_token_is_short_lived_and_signed_by_this_server(
        self, async_client: Any, session: Any, alice: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with serving(monkeypatch):
            with time_machine.travel("2026-01-01T12:00Z", tick=False):
                place = address(session, alice)
            with time_machine.travel("2026-01-01T12:16Z", tick=False):
                assert (await async_client.get(place)).status_code == 410
            assert (await async_client.get("/preview/abc:def:ghi/")).status_code == 404

    async def test_token_is_renewed_only_by_the_page_around_its_frame(
        self, async_client: Any, session: Any, alice: Any, bob: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        renewal = reverse("port_renew", args=[session.pk, 5000])
        async with serving(monkeypatch):
            with time_machine.travel("2026-01-01T12:00Z", tick=False):
                place = address(session, alice)
            token = {"token": place.split("/")[2]}
            with time_machine.travel("2026-01-01T12:16Z", tick=False):
                assert (await async_client.post(renewal, token)).status_code == 302  # redirected to the sign-in
                await async_client.aforce_login(bob)
                assert (await async_client.post(renewal, token)).status_code == 404
                assert (await async_client.get(place)).status_code == 410
                await async_client.aforce_login(alice)
                other = reverse("port_renew", args=[session.pk, 5001])
                assert (await async_client.post(other, token)).status_code == 404
                assert (await async_client.post(renewal, {"token": "abc:def:ghi"})).status_code == 404
                assert (await async_client.post(renewal, token)).status_code == 204
            with time_machine.travel("2026-01-01T12:30Z", tick=False):
                assert b"<title>x</title>" in await body_of(await async_client.get(place))
            with time_machine.travel("2026-01-01T12:32Z", tick=False):
                assert (await async_client.get(place)).status_code == 410
            with time_machine.travel("2026-01-02T12:01Z", tick=False):
                await async_client.aforce_login(alice)
                assert (await async_client.post(renewal, token)).status_code == 204
                assert (await async_client.get(place)).status_code == 410

    async def test_page_is_shown_only_in_its_frame(self, async_client: Any, session: Any, alice: Any) -> None:
        for path, args in (("a/b", ["a/b"]), ("", [])):
            found = await async_client.get(address(session, alice, path), headers={"Sec-Fetch-Dest": "document"})
            assert found["Location"] == reverse("port", args=[session.pk, 5000, *args])


class TestForwarding:
    async def test_cookies_and_credentials_do_not_reach_the_sandbox(
        self, async_client: Any, session: Any, alice: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async_client.cookies["sessionid"] = "the-cookie"
        secret = {
            "Authorization": "Bearer token",
            "X-Forwarded-User": "alice",
            "Referer": "http://x/s/1",
            "Origin": "y",
        }
        async with serving(monkeypatch) as served:
            headers = {**secret, "Accept": "text/html"}
            await body_of(await async_client.get(address(session, alice, "a b") + "?q=1", headers=headers))
            heard = served.heard.decode().lower()
        assert heard.startswith("get /a%20b?q=1 http/1.1\r\nhost: localhost:5000\r\n")
        assert "accept: text/html" in heard
        assert not [word for word in ("cookie", "authorization", "forwarded", "referer", "origin") if word in heard]

    async def test_response_sets_no_cookies_and_gets_no_rights(
        self, async_client: Any, session: Any, alice: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        bad = ("Set-Cookie: sessionid=x", "Service-Worker-Allowed: /", "Content-Security-Policy: default-src *")
        bad += (
            "Access-Control-Allow-Origin: *",
            "WWW-Authenticate: Basic",
            "Clear-Site-Data: *",
            "Refresh: 0; url=//x",
        )
        async with serving(monkeypatch) as served:
            served.says(PAGE, *bad)
            response = await async_client.get(address(session, alice))
            await body_of(response)
        assert not response.cookies
        assert not {"Service-Worker-Allowed", "WWW-Authenticate", "Clear-Site-Data", "Refresh"} & set(response.headers)
        policy = response["Content-Security-Policy"]
        assert "sandbox allow-scripts allow-forms;" in policy
        assert "allow-same-origin" not in policy
        assert "default-src *" not in policy
        assert response["Access-Control-Allow-Origin"] == "null"
        assert response["Referrer-Policy"] == "no-referrer"
        assert response["X-Content-Type-Options"] == "nosniff"

    async def test_absolute_paths_are_moved_below_the_token(
        self, async_client: Any, session: Any, alice: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        place = address(session, alice)
        async with serving(monkeypatch) as served:
            body = (await body_of(await async_client.get(place))).decode()
            served.says(b"a{background:url(/b.png)}", kind="text/css")
            style = await body_of(await async_client.get(place))
            served.says(b"fetch('/x')", kind="text/javascript")
            script = await body_of(await async_client.get(place))
        assert f"<img src='{place}a.png'>" in body
        assert "<a href=//b>" in body
        assert body.index("<head><script>") < body.index("<title>")
        assert style.decode() == f"a{{background:url({place}b.png)}}"
        assert script == b"fetch('/x')"

    @pytest.mark.parametrize(
        ("location", "becomes"),
        [
            ("/login?next=/", "PLACE/login?next=/"),
            ("http://localhost:5000/a", "PLACE/a"),
            ("http://127.0.0.1:5000", "PLACE/"),
            ("next", "PLACE/next"),
            ("../../../s/", "PLACE/s/"),
            ("/%2e%2E/..//evil.example", "PLACE/evil.example"),
            ("a\\..\\..\\..\\s", None),
            ("ht\ttps://evil.example/", None),
            ("https://evil.example/", None),
            ("//evil.example/", None),
            ("/\\evil.example", None),
            ("\\\\evil.example", None),
            ("javascript:alert(1)", None),
            ("http://localhost:5001/", None),
        ],
    )
    async def test_redirect_stays_inside(
        self,
        location: str,
        becomes: str | None,
        async_client: Any,
        session: Any,
        alice: Any,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        place = address(session, alice)
        async with serving(monkeypatch) as served:
            served.says(b"", f"Location: {location}", status="302 Found")
            response = await async_client.get(place)
            await body_of(response)
        if becomes is None:
            assert response.status_code == 502
        else:
            assert response["Location"] == becomes.replace("PLACE", place.rstrip("/"))

    async def test_path_cannot_leave_the_preview(self, async_client: Any, session: Any, alice: Any) -> None:
        await async_client.aforce_login(alice)
        frame = reverse("port", args=[session.pk, 5000, "x"])
        for place in (frame, address(session, alice, "x")):
            assert (await async_client.get(f"{place[:-1]}..%2f..%2fsettings")).status_code == 404

    async def test_non_ascii_headers_are_dropped(
        self, async_client: Any, session: Any, alice: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with serving(monkeypatch) as served:
            place = address(session, alice)
            found = await async_client.get(place, headers={"Accept": "é", "HX-Prompt": "x"})
            assert (found.status_code, b"hx-prompt" in served.heard.lower()) == (200, True)
            await body_of(found)

    @pytest.mark.parametrize("tag", [b"<head ", b"<html ", b"<!doctype "])
    async def test_hostile_page_is_rewritten_quickly(self, tag: bytes) -> None:
        began = time.process_time()
        _Rewriter("/preview/x", is_page=True)(tag * 100_000)
        assert time.process_time() - began < 1

    async def test_number_of_tiny_parts_is_limited(
        self, async_client: Any, session: Any, alice: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(preview_exchange, "MAX_BODY_BYTES", 10_000)
        async with serving(monkeypatch) as served:
            head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"
            served.answer = head + b"1\r\nx\r\n" * 100 + b"0\r\n\r\n"
            assert await body_of(await async_client.get(address(session, alice))) == b"x" * 10

    @pytest.mark.parametrize(
        "answer",
        [b"", b"nonsense\r\n\r\n", b"HTTP/1.1 101 Switching\r\n\r\n", b"HTTP/1.1 200 OK\r\nA: " + b"x" * 100_000],
    )
    async def test_missing_response_is_reported(
        self, answer: bytes, async_client: Any, session: Any, alice: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with serving(monkeypatch) as served:
            served.answer = answer
            response = await async_client.get(address(session, alice))
            assert (response.status_code, b"gave no answer" in response.content) == (502, True)
            nothing = await async_client.get(address(session, alice, port=5001))
            assert b"Nothing listens on port 5001" in nothing.content
        assert not preview._running

    async def test_truncated_body_is_shown(
        self, async_client: Any, session: Any, alice: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with serving(monkeypatch) as served:
            served.answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\nhalf"
            assert await body_of(await async_client.get(address(session, alice))) == b"half"
        assert not preview._running

    async def test_open_requests_of_a_session_are_limited(
        self, async_client: Any, session: Any, alice: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(preview, "MAX_OPEN_REQUESTS", 1)
        async with serving(monkeypatch):
            first = await async_client.get(address(session, alice))
            assert (await async_client.get(address(session, alice))).status_code == 503
            await body_of(first)
            assert await body_of(await async_client.get(address(session, alice)))
        assert not preview._running


def test_link_to_the_sandbox_opens_its_preview() -> None:
    shown = markdown.markdown("[See it](http://sandbox:5000/a?b=1) [no](http://sandbox:5000/../../x)", "/s/1/files/")
    assert 'href="/s/1/ports/5000/a?b=1"' in shown
    assert "x" not in shown.replace("rel=", "").partition(">no<")[0].rpartition("<a")[2]


@pytest.mark.parametrize(
    ("about", "ports"),
    [
        ({"job": 1, "ports": [8000]}, [8000]),  # actual ports count, not the ones that the agent named
        ({"job": 1, "ports": []}, [5000]),
        ({"ports": [8000, 8001]}, [8000, 8001]),  # the tool `job`
        ({"ports": []}, []),
        ({}, []),
    ],
)
def test_call_shows_listening_ports(about: dict[str, Any], ports: list[int]) -> None:
    call = ContextEntry(tool_call='{"id": "1", "name": "shell", "arguments": {"command": "serve"}}')
    said = ContextEntry(content="Running on http://localhost:5000", metadata=about)
    assert Item(entry=call, result=said).ports == ports


def test_sandbox_on_another_machine_is_reported(client: Any, session: Any, alice: Any) -> None:
    client.force_login(alice)
    port = reverse("port", args=[session.pk, 5000])
    session.held_by, session.held = f"{process.name()}", {"job 1": "job 1"}
    session.save()
    assert "another machine" not in client.get(port).content.decode()
    session.held_by = "worker-7:abc"
    session.save()
    assert "is on another machine, which" in client.get(port).content.decode()
    alice.user_permissions.add(Permission.objects.get(codename="view_engineprocess"))
    assert "is on another machine (worker-7), which" in client.get(port).content.decode()


class TestStoppedServer:
    @pytest.fixture
    def place(self, session: Any, called: Any) -> str:
        arguments = '{"command": "flask run --port 5000", "background": true}'
        called("shell", arguments, "[job 1 is running]", job=1, ports=[5000])
        return reverse("port", args=[session.pk, 5000])

    def test_page_says_why_and_starts_it_again(self, place: str, session: Any, alices: Any) -> None:
        shown = alices.page(place)
        assert "This server does not answer" in shown
        assert "the session was not used for half an hour, or this site was restarted" in shown
        assert "flask run --port 5000" in shown
        assert alices.get(place, headers={"HX-Request": "true"}).status_code == 204
        address = reverse("port_start", args=[session.pk, 5000])
        assert f'action="{address}"' in shown
        for _ in range(2):  # the second submission is a repetition
            assert alices.post(address, {"key": "k"})["Location"].startswith(session.get_absolute_url())
        assert session.inbox.count() == 1
        assert "flask run --port 5000" in session.inbox.get().content

    def test_readers_and_unknown_ports_get_no_button(self, place: str, session: Any, browser: Any, bob: Any) -> None:
        shown = browser(bob).page(place)
        assert "This server does not answer" in shown
        assert "port-start" not in shown
        assert "Start the server again" not in shown
        assert browser(bob).post(reverse("port_start", args=[session.pk, 5000])).status_code == 403
        owner = browser(session.owner)
        assert "Start the server on port 5001 again" in owner.page(reverse("port", args=[session.pk, 5001]))
        refused = owner.htmx(reverse("port_start", args=[session.pk, 5001]))
        assert (refused.status_code, b"No background command" in refused.content) == (409, True)

    async def test_page_is_loaded_again_when_the_server_answers(
        self, session: Any, alice: Any, async_client: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        place = reverse("port", args=[session.pk, 5000])
        await async_client.aforce_login(alice)
        async with serving(monkeypatch):
            answer = await async_client.get(place, headers={"HX-Request": "true"})
            assert answer["HX-Refresh"] == "true"
            assert b"does not answer" not in (await async_client.get(place)).content
