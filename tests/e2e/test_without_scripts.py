"""The site without JavaScript: sign in, send, read, answer, approve and stop."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.conftest import call, result, script
from tests.server import Server
from tests.waiting import until


@pytest.fixture
def page(open_page: Callable[..., Page], server: Server) -> Page:
    return open_page(server, java_script_enabled=False)


def start(page: Page, text: str) -> None:
    page.get_by_label("Model").select_option("script")
    page.get_by_label("Message", exact=True).fill(text)
    page.get_by_role("button", name="Start").click()
    page.wait_for_url(re.compile("/s/"))


def reload_until(page: Page, place: Locator) -> None:
    until(lambda: page.reload() and place.count())


def press(page: Page, name: str) -> None:
    """Press the button and wait for the next page: a reload before it arrives would be refused."""
    with page.expect_navigation():
        page.get_by_role("button", name=name).click()


def test_sending_a_message_and_reading_the_result(page: Page):
    start(page, script(call("file", {"action": "write", "path": "a", "content": "x"}), result("All done.")))
    reload_until(page, page.locator(".entry.result"))
    expect(page.locator(".entry.result")).to_contain_text("All done.")


def test_answering_a_question(page: Page):
    ask = call("message", {"type": "ask", "text": "Red or blue?", "options": ["Red", "Blue"]})
    start(page, script(ask, result("Thank you.")))
    reload_until(page, page.get_by_role("button", name="Blue"))
    press(page, "Blue")
    reload_until(page, page.locator(".entry.result"))
    expect(page.locator(".answer")).to_contain_text("Blue")


def test_approving_a_call(page: Page):
    start(page, script(call("shell", {"command": "git push --force; echo ran"}), result("Ran it.")))
    reload_until(page, page.get_by_role("button", name="Approve once"))
    press(page, "Approve once")
    reload_until(page, page.locator(".entry.result"))
    expect(page.locator(".entry.tool_call")).to_contain_text("Approved by ada")


def test_steering_and_stopping_a_task(page: Page):
    start(page, script(result("Never said.", stall=60)))
    reload_until(page, page.locator("#interject-button"))
    page.get_by_label("Message", exact=True).fill("And this.")
    page.locator("#send-button").click()
    expect(page.locator("#waiting")).to_contain_text("After this step")
    with page.expect_navigation():
        page.locator("#stop-button").click()
    reload_until(page, page.locator(".failure.calm"))
    expect(page.locator("#state")).to_contain_text("Stopped")
