"""Branches of a conversation: from an entry, with an edited message, and links to what the model saw."""

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e.conftest import Chat, result, script
from tests.waiting import until


def test_editing_a_message_creates_a_session(chat: Chat):
    chat.start(script(result("The first way.")))
    expect(chat.result("The first way.")).to_be_visible()
    origin = chat.session_id
    message = chat.page.locator(".user_message")
    message.hover()
    message.locator(".branch > summary").click()
    message.get_by_label("Edited message").fill(script(result("Another way.")))
    message.get_by_role("button", name="Send the edited message").click()
    chat.page.wait_for_url(lambda url: "/s/" in url and origin not in url)
    expect(chat.result("Another way.")).to_be_visible()
    expect(chat.page.locator(".result", has_text="The first way.")).to_have_count(0)


def test_card_links_to_what_the_model_saw(chat: Chat):
    chat.start(script(result("Here.")))
    answer = chat.result("Here.")
    expect(answer).to_be_visible()
    answer.hover()
    answer.locator(".branch > summary").click()
    answer.get_by_role("link", name="What the model saw").click()
    expect(chat.page.get_by_role("heading", name="What the model saw")).to_be_visible()
    chat.page.locator("summary", has_text="system").first.click()
    expect(chat.page.get_by_text("role: system").first).to_be_visible()


@pytest.mark.parametrize("lines", [1, 100])
def test_branch_menu_opens_next_to_its_icon(chat: Chat, lines: int):
    chat.start(script(result("A line.\n\n" * 100)))
    expect(chat.result("A line.")).to_be_visible()
    chat.say(script(result("Here.\n\n" * lines)))
    answer = chat.result("Here.")
    expect(answer).to_be_visible()
    icon, menu = answer.locator(".branch > summary"), answer.locator(".branch")
    icon.focus()
    icon.press("Enter")
    expect(menu.get_by_role("button", name="Another answer")).to_be_visible()
    expect(menu).to_be_in_viewport(ratio=1)
    until(lambda: abs(top(icon) - top(menu)) < 20 and end(menu) < top(chat.page.locator(".composer")))


def top(locator: Locator) -> float:
    return float(locator.evaluate("place => place.getBoundingClientRect().top"))


def end(locator: Locator) -> float:
    return float(locator.evaluate("place => place.getBoundingClientRect().bottom"))
