"""A conversation goes another way: from an entry, with a message changed, and back to what the model saw."""

from playwright.sync_api import expect

from tests.e2e.conftest import Chat, result, script


def test_a_message_is_edited_in_a_session_of_its_own(chat: Chat):
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


def test_what_the_model_saw_is_one_click_away(chat: Chat):
    chat.start(script(result("Here.")))
    answer = chat.result("Here.")
    expect(answer).to_be_visible()
    answer.hover()
    answer.locator(".branch > summary").click()
    answer.get_by_role("link", name="What the model saw").click()
    expect(chat.page.get_by_role("heading", name="What the model saw")).to_be_visible()
    chat.page.locator("summary", has_text="system").first.click()
    expect(chat.page.get_by_text("role: system").first).to_be_visible()
