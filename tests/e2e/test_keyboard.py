"""Keyboard control: the command palette, and the page that lists the keys."""

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e.conftest import WAIT, Chat, call, result, script


def test_palette_finds_a_command_by_its_words(chat: Chat):
    chat.start(script(result()))
    expect(chat.result("Done.")).to_be_visible()
    chat.page.keyboard.press("Control+k")
    chat.page.get_by_label("Command", exact=True).fill("usage")
    expect(chat.page.locator("#commands li")).to_have_count(1)
    chat.page.keyboard.press("Enter")
    chat.page.wait_for_url("**/usage/")


def test_command_separates_title_and_state_of_a_session(chat: Chat):
    chat.start(script(call("message", {"type": "ask", "text": "Which one?"}), result()))
    expect(chat.page.locator(".ask-card")).to_be_visible()
    chat.page.keyboard.press("Control+k")
    chat.page.get_by_label("Command", exact=True).fill("asks you")
    expect(chat.page.locator("#commands button").first).to_have_text(re.compile(r"\S Asks you$"))


CHROMIUM = [("compositionstart", {}), ("keydown", {"isComposing": True, "keyCode": 229}), ("compositionend", {})]
SAFARI = [("compositionstart", {}), ("compositionend", {}), ("keydown", {"keyCode": 229})]  # bugs.webkit.org 165004
COMPOSITIONS = pytest.mark.parametrize("events", [CHROMIUM, SAFARI], ids=["Chromium", "Safari"])
Events = list[tuple[str, dict[str, Any]]]


def end_composition(field: Locator, key: str, events: Events) -> None:
    """Press the key that ends a composition, as each browser reports it."""
    for name, about in [*events, ("keyup", {"keyCode": 229})]:
        field.dispatch_event(name, about | {"key": key} if name.startswith("key") else {"data": "日本"})


@COMPOSITIONS
def test_enter_ending_a_composition_chooses_no_command(chat: Chat, events: Events):
    chat.page.keyboard.press("Control+k")
    command = chat.page.get_by_label("Command", exact=True)
    command.fill("usage")
    end_composition(command, "Enter", events)
    expect(chat.page.locator("#palette")).to_be_visible()
    expect(command).to_be_focused()
    command.press("Enter")
    chat.page.wait_for_url("**/usage/")


@COMPOSITIONS
def test_enter_ending_a_composition_sends_nothing(chat: Chat, events: Events):
    chat.page.get_by_label("Model").select_option("script")
    chat.words.fill(script(result("Half.")))
    end_composition(chat.words, "Enter", events)
    chat.words.fill(script(result("Whole.")))
    chat.words.press("Enter")
    expect(chat.result("Whole.")).to_be_visible()
    expect(chat.result("Half.")).to_have_count(0)


@COMPOSITIONS
def test_escape_ending_a_composition_stops_no_task(chat: Chat, events: Events):
    chat.start(script(call("shell", {"command": WAIT}), result()))
    expect(chat.tool("shell")).to_contain_text("Running")
    chat.words.focus()
    end_composition(chat.words, "Escape", events)
    chat.end_wait()
    expect(chat.result("Done.")).to_be_visible()


def test_palette_returns_the_focus(chat: Chat):
    chat.start(script(result()))
    chat.words.fill("Half a")
    chat.page.keyboard.press("Control+k")
    expect(chat.page.locator("#commands button").first).to_be_visible()
    chat.page.keyboard.press("ArrowDown")
    expect(chat.page.locator("#commands button").first).to_be_focused()
    chat.page.keyboard.press("Escape")
    expect(chat.words).to_be_focused()
    expect(chat.words).to_have_value("Half a")


def test_question_mark_shows_keys_except_while_typing(chat: Chat):
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
