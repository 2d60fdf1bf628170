"""Changes of a call, shown on its card and undone after a confirmation, also by keyboard."""

from playwright.sync_api import expect

from tests.e2e.conftest import Chat, call, result, script


def test_undoing_a_call_from_its_card(chat: Chat):
    write = call("file", {"action": "write", "path": "plan.md", "content": "# Plan\n\nOne step.\n"})
    change = call("shell", {"command": "echo 'Another step.' >> plan.md; mkdir notes; echo a > notes/a.txt"})
    chat.start(script(write, change, result("Both are there.")))
    expect(chat.result("Both are there.")).to_be_visible()
    chat.page.locator(".activity summary").click()
    card = chat.tool("shell")
    expect(card.locator("summary").first).to_contain_text("2 files changed")
    card.locator("summary").first.click()
    fold = card.locator(".changed")
    fold.locator("summary").focus()
    chat.page.keyboard.press("Enter")
    expect(fold.locator(".diff .added", has_text="+Another step.")).to_be_visible()
    expect(chat.page.locator("#files")).to_contain_text("notes")
    fold.get_by_role("link", name="Put everything back").click()
    question = chat.page.get_by_role("dialog")
    expect(question).to_contain_text("You can undo this")
    question.get_by_role("button", name="Put back").click()
    expect(chat.page.locator("#toasts")).to_contain_text("2 files put back")
    expect(chat.page.locator("#files")).not_to_contain_text("notes")
