"""Calls between two messages form one group, with a line that summarizes them."""

from playwright.sync_api import expect

from tests.e2e.conftest import WAIT, Chat, call, result, script


def write(name):
    return call("file", {"action": "write", "path": name, "content": "x"})


def test_finished_steps_fold_into_a_line_above_the_running_one(chat: Chat):
    chat.start(script(write("a.txt"), write("b.txt"), call("shell", {"command": f"echo begun; {WAIT}"}), result()))
    line = chat.page.locator(".activity .what")
    expect(line).to_contain_text("Wrote a.txt, b.txt, ran echo begun")
    expect(chat.tool("shell")).to_be_visible()
    expect(chat.tool("file").first).to_be_hidden()
    expect(chat.page.get_by_text("begun", exact=True)).to_have_count(1)
    chat.end_wait()
    expect(chat.result("Done.")).to_be_visible()
    expect(chat.tool("shell")).to_be_hidden()
    chat.page.locator(".activity summary").click()
    expect(chat.tool("file").first).to_be_visible()
    expect(chat.tool("shell")).to_be_visible()


def test_reload_shows_the_same_groups(chat: Chat):
    info = call("message", {"type": "info", "text": "Half of it is done."})
    chat.start(
        script(write("a"), write("b"), info, write("c"), call("file", {"action": "read", "path": "missing"}), result())
    )
    expect(chat.result("Done.")).to_be_visible()
    lines = chat.page.locator("#entries .activity .line")
    expect(lines).to_have_count(2)
    live = [" ".join(line.split()) for line in lines.all_text_contents()]
    chat.page.reload()
    expect(lines).to_have_count(2)
    assert [" ".join(line.split()) for line in lines.all_text_contents()] == live
    assert live == ["Wrote a, b", "Wrote c, called file (read) 1 failed"]


def test_link_to_a_step_opens_its_group(chat: Chat):
    chat.start(script(write("a.txt"), write("b.txt"), write("c.txt"), result()))
    expect(chat.result("Done.")).to_be_visible()
    second = chat.page.locator(".entry.tool_call").nth(1)
    expect(second).to_be_hidden()
    chat.page.goto(f"{chat.page.url.partition('#')[0]}#{second.get_attribute('id')}")
    expect(second).to_be_visible()
