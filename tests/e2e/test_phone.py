"""On a phone, no page is wider than the window, and no cell of the admin hides its text."""

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Chat, call, result, script

WIDTH = 390
ADMIN = ["", "tasks_app/agent/add/", "llm_app/provider/add/", "llm_app/budget/add/", "tasks_app/routingrule/add/"]


def is_wider_than_window(page: Page) -> bool:
    return page.evaluate("document.documentElement.scrollWidth") > WIDTH


def test_session_pages_fit(chat: Chat) -> None:
    writes = [
        call("file", {"action": "write", "path": "quarterly-report.md", "content": text}) for text in ("one", "two")
    ]
    chat.start(script(*writes, result()))
    expect(chat.state).to_have_text("Done")
    place = chat.page.url.partition("#")[0]
    chat.page.set_viewport_size({"width": WIDTH, "height": 844})
    for address in ("", "versions/", "context/", "why/", "manage/"):
        chat.page.goto(place + address)
        assert not is_wider_than_window(chat.page), address


@pytest.mark.parametrize("address", ADMIN)
def test_admin_pages_fit(address: str, chat: Chat) -> None:
    chat.page.set_viewport_size({"width": WIDTH, "height": 844})
    chat.page.goto(f"/admin/{address}")
    assert not is_wider_than_window(chat.page)


def test_long_cell_is_shown_whole(chat: Chat) -> None:
    chat.start(script(result("It has many words, " * 12)))
    expect(chat.state).to_have_text("Done")
    chat.page.set_viewport_size({"width": WIDTH, "height": 844})
    chat.page.goto("/admin/tasks_app/contextentry/")
    cell = chat.page.locator("#result_list td", has_text="It has many words").first
    hidden = cell.evaluate("cell => [cell.scrollHeight - cell.clientHeight, cell.scrollWidth - cell.clientWidth]")
    assert max(hidden) <= 0
