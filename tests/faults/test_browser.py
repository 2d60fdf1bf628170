"""Tests of the view in three tabs while the database and the web process go away and come back."""

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Chat, browser, call, login, open_page, result, script, shared_context
from tests.faults.conftest import Start
from tests.faults.servers import Postgres
from tests.waiting import until

pytestmark = [pytest.mark.team, pytest.mark.e2e]
__all__ = ["browser", "login", "open_page", "shared_context"]


def test_three_tabs_and_a_message_while_the_database_is_away(team: Start, open_page) -> None:  # noqa: F811
    deployment = team(workers=1)
    server, postgres = deployment.server, deployment.postgres
    chat = Chat(open_page(server, may_complain=True), server)
    chat.start(script(call("file", {"action": "list", "path": "."}), result("First.")))
    expect(chat.result("First.")).to_be_visible()
    tabs = [chat, *(Chat(open_page(server, may_complain=True), server) for _ in range(2))]
    for tab in tabs[1:]:
        tab.page.goto(chat.page.url)
    text = script(result("Second."))
    postgres.crash()
    chat.say(text)
    expect(chat.page.locator("#toasts")).to_contain_text("Try again")
    assert chat.words.input_value() == text
    postgres.start()
    until(lambda: server.call("GET", f"sessions/{chat.session_id}/")["id"])
    chat.words.press("Enter")
    for tab in tabs:
        expect(tab.result("Second.")).to_be_visible()
    assert chat.words.input_value() == ""
    server.kill()
    for tab in tabs:
        expect(tab.page.locator("#connection")).to_be_visible()
    server.start()
    for tab in tabs:
        expect(tab.page.locator("#connection")).to_be_hidden()
        until(lambda tab=tab: tab.seqs == chat.seqs)
        assert len(tab.seqs) == len(set(tab.seqs))
        assert tab.page.locator(".entry.user_message", has_text="Second.").count() == 1
    _begin_while_the_database_is_away(chat, postgres)


def _begin_while_the_database_is_away(chat: Chat, postgres: Postgres) -> None:
    """Send the first message of a session. The page shows only its text until there is an answer."""
    chat.page.goto("/")
    chat.page.get_by_label("Model").select_option("script")
    text = script(result("Third."))
    postgres.crash()
    for _ in range(2):
        chat.say(text)
        expect(chat.page.locator("#toasts")).to_contain_text("Try again")
        assert chat.words.input_value() == text
    postgres.start()
    until(lambda: chat.server.call("GET", "sessions/"))
    chat.words.press("Enter")
    expect(chat.result("Third.")).to_be_visible()
    assert len(chat.server.call("GET", "sessions/")["results"]) == 2
