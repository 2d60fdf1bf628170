"""From a template to the first answer of an agent."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Chat, result, script


@pytest.fixture
def chat_after(chat: Chat) -> Iterator[Chat]:
    """Leaves no agent to the tests that follow."""
    yield chat
    chat.page.goto("/agents/")
    chat.page.get_by_role("link", name="Edit Researcher").click()
    chat.page.goto(chat.page.url.replace("/change/", "/delete/"))
    chat.page.locator("main, body").get_by_role("button", name="Yes, I’m sure").click()


def test_an_agent_is_made_from_a_template_chosen_in_the_gallery_and_answers(chat_after: Chat):
    page = chat_after.page
    page.goto("/agents/")
    page.get_by_role("link", name="Use this template Researcher").click()
    page.get_by_role("button", name="Save", exact=True).click()
    page.goto("/agents/")
    page.get_by_role("link", name="Start a chat with Researcher").click()
    chat_after.start(script(result("I have looked it up.")))
    expect(chat_after.result("I have looked it up.")).to_be_visible()
    picker = page.locator("select[name=agent]")
    expect(picker).to_have_value("Researcher")
    assert picker.locator("option:checked img").evaluate("face => face.complete && face.naturalWidth > 0")
