"""An agent from a template to its first answer."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Chat, result, script


@pytest.fixture
def chat_without_agents(chat: Chat) -> Iterator[Chat]:
    """Return the chat, and delete all agents after the test."""
    yield chat
    chat.page.goto("/agents/")
    chat.page.get_by_role("link", name="Edit Researcher").click()
    chat.page.goto(chat.page.url.replace("/change/", "/delete/"))
    chat.page.locator("main, body").get_by_role("button", name="Yes, I’m sure").click()


def test_agent_from_a_gallery_template_answers(chat_without_agents: Chat):
    page = chat_without_agents.page
    page.goto("/agents/")
    page.get_by_role("link", name="Use this template Researcher").click()
    page.get_by_role("button", name="Save", exact=True).click()
    page.goto("/agents/")
    page.get_by_role("link", name="Start a chat with Researcher").click()
    chat_without_agents.start(script(result("I have looked it up.")))
    expect(chat_without_agents.result("I have looked it up.")).to_be_visible()
    picker = page.locator("select[name=agent]")
    expect(picker).to_have_value("Researcher")
    assert picker.locator("option:checked img").evaluate("face => face.complete && face.naturalWidth > 0")
