"""The composer: keys while a task runs, waiting messages, drafts, and Esc."""

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import WAIT, Chat, call, result, script, sign_in


@pytest.fixture
def running(chat: Chat) -> Chat:
    """Return a task in the middle of a command."""
    chat.start(script(call("shell", {"command": WAIT}), result("First.")))
    expect(chat.tool("shell")).to_contain_text("Running")
    return chat


def test_enter_steers_a_task_without_stopping_its_command(running: Chat):
    expect(running.page.locator("#send-button")).to_contain_text("after this step")
    running.say(script(result("Heard you.")))
    waiting = running.page.get_by_role("list", name="Waiting messages")
    expect(waiting).to_contain_text("After this step")
    expect(running.tool("shell")).to_contain_text("Running")
    running.end_wait()
    expect(running.result("Heard you.")).to_be_visible()
    expect(running.tool("shell")).to_contain_text("Done")
    expect(waiting.get_by_role("listitem")).to_have_count(0)


def test_pressing_enter_twice_sends_once(running: Chat):
    running.words.fill("Once.")
    running.words.evaluate(
        """words => {
            const enter = () => new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true });
            for (const _ of [1, 2]) words.dispatchEvent(enter());
        }"""
    )
    waiting = running.page.get_by_role("list", name="Waiting messages").get_by_role("listitem")
    expect(waiting).to_have_count(1)
    running.say("Twice.")
    expect(waiting).to_have_count(2)
    expect(running.page.locator("#toasts .toast")).to_have_count(0)
    running.end_wait()


def test_control_enter_interrupts_the_command(running: Chat):
    expect(running.page.locator("#interject-button")).to_contain_text("stops the running command")
    running.say(script(result("Heard you.")), key="Control+Enter")
    expect(running.tool("shell")).to_contain_text("Interrupted")
    expect(running.result("Heard you.")).to_be_visible()


def test_waiting_messages_can_be_edited_and_removed(running: Chat):
    page = running.page
    running.say("This is not meant.", key="Alt+Enter")
    waiting = page.get_by_role("list", name="Waiting messages").get_by_role("listitem")
    expect(waiting).to_have_count(1)
    running.say("This one waits.", key="Alt+Enter")
    expect(waiting).to_have_count(2)
    waiting.first.locator("summary").click()
    waiting.first.get_by_role("button", name="Remove").click()
    expect(waiting).to_have_count(1)
    waiting.first.locator("summary").click()
    waiting.get_by_label("Waiting message").fill(script(result("Second, changed.")))
    waiting.get_by_role("button", name="Save").click()
    expect(waiting.locator(".said")).to_contain_text("Second, changed.")
    running.end_wait()
    expect(running.result("Second, changed.")).to_be_visible()


def test_escape_stops_the_task_unless_another_field_has_focus(running: Chat):
    page = running.page
    page.get_by_label("Title").focus()
    page.keyboard.press("Escape")
    expect(running.words).to_be_focused()
    expect(running.state).to_contain_text("Working")
    page.keyboard.press("Escape")
    expect(running.state).to_contain_text("Stopped")


def test_draft_survives_a_reload_and_is_cleared_when_sent(chat: Chat):
    chat.start(script(result("First.")))
    expect(chat.result("First.")).to_be_visible()
    chat.words.fill("Half a thou")
    chat.page.reload()
    expect(chat.words).to_have_value("Half a thou")
    chat.say(script(result("Second.")))
    expect(chat.result("Second.")).to_be_visible()
    chat.page.reload()
    expect(chat.words).to_have_value("")


def test_message_refused_after_a_sign_out_stays_in_the_composer(open_page, server):
    chat = Chat(open_page(server, signed_in=False, may_complain=True), server)
    sign_in(chat.page)
    chat.start(script(result("First.")))
    expect(chat.result("First.")).to_be_visible()
    chat.words.fill(script(result("Second.")))
    other = chat.page.context.new_page()
    other.goto("/")
    other.get_by_role("button", name="Sign out").click()
    sign_in(other)
    chat.words.press("Enter")
    expect(chat.page.locator("#toasts .toast")).to_contain_text("Reload it and try again")
    chat.page.reload()
    chat.words.press("Enter")
    expect(chat.result("Second.")).to_be_visible()
