"""The browser in the entire loop: the model's view, stops, and the loss of a page in a restart."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tasks_app import services
from tasks_app.models import Session
from tasks_app.runtime import event_loop
from tests import pages
from tests.provider import openai_call, openai_result
from tests.tasks_app.engine.conftest import Run, call, result
from tests.waiting import takes_less_than, until
from tools_app import held_resources
from tools_app.browser.program import chromium_path
from tools_app.models import AllowedAddress
from tools_app.sandbox.choice import choose_sandbox

pytestmark = pytest.mark.skipif(not chromium_path(), reason="no Chromium is installed")
PAGES = {"/": "<title>Shop</title><h1>Apples</h1><button onclick=\"this.textContent='Bought'\">Buy</button>"}


@pytest.fixture
def site(transactional_db: None) -> Iterator[pages.Site]:
    with pages.serving(PAGES) as site:
        AllowedAddress.objects.create(address=site.host)
        yield site


@pytest.fixture(autouse=True)
def _closed_in_the_end(transactional_db: None) -> Iterator[None]:
    yield
    close_all()


def close_all() -> None:
    from tools_app.browser.pages import pages as open_pages

    for session in list(open_pages._open):
        event_loop.submit(open_pages.close(session)).result(20)


def actions(request: Any) -> list[str]:
    """Return the actions of the browser that a request offers."""
    tool = next(tool for tool in request.body["tools"] if tool["function"]["name"] == "browser")
    action = tool["function"]["parameters"]["properties"]["action"]
    return list(action["enum"])


def test_a_task_visits_clicks_and_closes(ask_http: Callable[..., Run], http_provider: Any, site: pages.Site) -> None:
    http_provider.replies = [
        openai_call("browser", {"action": "visit", "url": site.url()}),
        openai_call("browser", {"action": "click", "ref": "e3"}, call_id="call_2"),
        openai_call("browser", {"action": "screenshot"}, call_id="call_3"),
        openai_call("browser", {"action": "close"}, call_id="call_4"),
        openai_result(),
    ]
    run = ask_http()
    assert run.advance().state == "done"
    statuses = [status for status, _ in run.results()]
    assert statuses[:4] == ["succeeded"] * 4
    assert "Bought" in run.results()[1][1]
    assert "click" in actions(http_provider.received[0])
    assert [picture["path"] for entry in run.entries for picture in entry.pictures] == ["screenshots/1.png"]
    assert "<browser>" in http_provider.received[0].body["messages"][0]["content"]


def test_a_page_stays_open_for_the_next_task_and_its_loss_is_reported(
    play: Callable[..., Run], site: pages.Site
) -> None:
    run = play(call("browser", action="visit", url=site.url()), result())
    assert run.advance().state == "done"
    session = Session.objects.get(pk=run.task.session_id)
    assert session.held == {"page": "the page that was open in the browser"}
    close_all()
    second = play(call("browser", action="view"), result())
    second.advance()
    status, told = second.results()[-2]
    assert status == "failed"
    assert "No page is open" in told
    assert "[Gone: the page that was open in the browser." in told
    session.refresh_from_db()
    assert (session.held, session.held_by) == ({}, "")


def test_stop_ends_a_visit_within_a_second(play: Callable[..., Run], site: pages.Site) -> None:
    run = play(call("browser", action="visit", url=site.url("/slow")), result())
    thread = run.in_thread()
    assert site.slow_is_asked.wait(30)
    with takes_less_than(1):
        services.stop(run.task)
        thread.join(60)
    assert run.results()[0][0] == "interrupted"
    assert until(lambda: not held_resources.resources_of(str(run.task.session_id)))


def test_a_role_without_the_browser_never_sees_it(ask_http: Callable[..., Run], http_provider: Any) -> None:
    from tools_app.models import ToolSetting

    ToolSetting.objects.create(name="browser", enabled=False)
    http_provider.replies = [openai_call("browser", {"action": "visit", "url": "http://a.example"}), openai_result()]
    run = ask_http()
    run.advance()
    assert run.results()[0] == ("blocked", "The tool browser is not available here.")
    request = http_provider.received[0].body
    assert "browser" not in {tool["function"]["name"] for tool in request["tools"]}
    assert "<browser>" not in request["messages"][0]["content"]


def test_a_server_that_the_agent_writes_is_opened_in_its_browser(
    ask_http: Callable[..., Run], http_provider: Any
) -> None:
    if (sandbox := choose_sandbox("bubblewrap")).probe():
        pytest.skip(sandbox.probe())
    serve = "echo '<title>Mine</title><h1>It works</h1>' > index.html; exec python3 -m http.server 8123"
    wait = "until curl -sf http://sandbox:8123/; do sleep 0.05; done"
    http_provider.replies = [
        openai_call("shell", {"command": serve, "background": True}),
        openai_call("shell", {"command": wait}, call_id="call_2"),
        openai_call("browser", {"action": "visit", "url": "http://sandbox:8123/"}, call_id="call_3"),
        openai_call("fetch_url", {"url": "http://sandbox:8123/"}, call_id="call_4"),
        openai_result(),
    ]
    run = ask_http()
    assert run.advance().state == "done"
    _, by_shell, by_browser, by_fetch = run.results()[:4]
    for status, content in (by_shell, by_browser, by_fetch):
        assert status == "succeeded"
        assert "It works" in content
    services.delete_session(run.task.session)
