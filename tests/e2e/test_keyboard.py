"""Everything by keys: the palette of commands, and the page that says which keys there are."""

import re

from playwright.sync_api import expect

from tests.e2e.conftest import Chat, call, result, script


def test_a_command_is_found_by_its_words(chat: Chat):
    chat.start(script(result()))
    expect(chat.result("Done.")).to_be_visible()
    chat.page.keyboard.press("Control+k")
    chat.page.get_by_label("Command", exact=True).fill("usage")
    expect(chat.page.locator("#commands li")).to_have_count(1)
    chat.page.keyboard.press("Enter")
    chat.page.wait_for_url("**/usage/")


def test_a_command_for_a_session_that_waits_keeps_its_words_apart(chat: Chat):
    chat.start(script(call("message", {"type": "ask", "text": "Which one?"}), result()))
    expect(chat.page.locator(".ask-card")).to_be_visible()
    chat.page.keyboard.press("Control+k")
    chat.page.get_by_label("Command", exact=True).fill("asks you")
    expect(chat.page.locator("#commands button").first).to_have_text(re.compile(r"\S Asks you$"))


def test_enter_that_ends_a_composition_chooses_no_command(chat: Chat):
    chat.page.keyboard.press("Control+k")
    command = chat.page.get_by_label("Command", exact=True)
    command.fill("usage")
    command.dispatch_event("keydown", {"key": "Enter", "isComposing": True})
    expect(chat.page.locator("#palette")).to_be_visible()
    expect(command).to_be_focused()


def test_the_palette_gives_the_focus_back(chat: Chat):
    chat.start(script(result()))
    chat.words.fill("Half a")
    chat.page.keyboard.press("Control+k")
    expect(chat.page.locator("#commands button").first).to_be_visible()
    chat.page.keyboard.press("ArrowDown")
    expect(chat.page.locator("#commands button").first).to_be_focused()
    chat.page.keyboard.press("Escape")
    expect(chat.words).to_be_focused()
    expect(chat.words).to_have_value("Half a")


def test_a_question_mark_shows_the_keys_but_not_while_one_writes(chat: Chat):
    chat.start(script(result()))
    keys = chat.page.get_by_role("dialog", name="Keys")
    chat.words.press("?")
    expect(chat.words).to_have_value("?")
    expect(keys).to_be_hidden()
    chat.words.blur()
    chat.page.keyboard.press("?")
    expect(keys).to_contain_text("stops the running command")
    keys.get_by_role("button", name="Close").click()
    expect(keys).to_be_hidden()
