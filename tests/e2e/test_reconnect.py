"""Lost connections: after a reconnect nothing is missing or repeated."""

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Chat, call, result, script
from tests.e2e.speaker import WORDS
from tests.waiting import until


def test_page_resumes_after_a_killed_server_restarts(open_page, mortal_server):
    chat = Chat(open_page(mortal_server, may_complain=True), mortal_server)
    ask = call("message", {"type": "ask", "text": "Shall I go on?", "options": ["Go on"]})
    chat.start(script(call("file", {"action": "list", "path": "."}), ask, result("All there.")))
    expect(chat.page.get_by_role("button", name="Go on")).to_be_visible()
    before = chat.seqs
    mortal_server.kill()
    expect(chat.page.locator("#connection")).to_be_visible()
    mortal_server.start()
    expect(chat.page.locator("#connection")).to_be_hidden()
    assert chat.seqs == before
    chat.page.get_by_role("button", name="Go on").click()
    expect(chat.result("All there.")).to_be_visible()
    assert len(chat.seqs) == len(set(chat.seqs))


def test_stream_cut_off_by_a_crash_becomes_one_answer(open_page, mortal_server, speaker):
    chat = Chat(open_page(mortal_server, may_complain=True), mortal_server)
    speaker.says(WORDS)
    speaker.says(WORDS, pauses=0)
    chat.start("Speak.", model="speaker")
    expect(chat.live).to_contain_text("word20 ")
    mortal_server.kill()
    mortal_server.start()
    expect(chat.result("word99")).to_be_visible()
    expect(chat.live).to_have_count(0)
    assert chat.page.locator(".entry.result").count() == 1


def test_three_tabs_show_the_same_after_offline_and_crash(open_page, mortal_server, speaker):
    chat = Chat(open_page(mortal_server, may_complain=True), mortal_server)
    speaker.says(WORDS)
    speaker.says(WORDS, pauses=0)
    speaker.says("Meanwhile.", pauses=0)
    chat.start("Speak.", model="speaker")
    expect(chat.live).to_contain_text("word20 ")
    second = Chat(chat.page.context.new_page(), mortal_server)
    away = Chat(open_page(mortal_server, may_complain=True), mortal_server)
    for tab in (second, away):
        tab.page.goto(chat.page.url)
        expect(tab.live).to_contain_text("word20 ")
    away.page.context.set_offline(True)
    mortal_server.kill()
    mortal_server.start()
    expect(chat.result("word99")).to_be_visible()
    chat.say("Go on.")
    expect(chat.result("Meanwhile.")).to_be_visible()
    away.page.context.set_offline(False)
    for tab in (second, away):
        until(lambda tab=tab: tab.seqs == chat.seqs)
        expect(tab.live).to_have_count(0)
        assert (
            tab.page.locator("#entries .prose").all_inner_texts()
            == chat.page.locator("#entries .prose").all_inner_texts()
        )
    assert len(chat.seqs) == len(set(chat.seqs))
    assert chat.result("word99").count() == 1


def test_offline_page_catches_up(chat: Chat, server):
    chat.start(script(result("First.")))
    expect(chat.result("First.")).to_be_visible()
    chat.page.context.set_offline(True)
    server.call("POST", f"sessions/{chat.session_id}/messages/", {"content": script(result("Meanwhile."))})
    server.call("GET", f"sessions/{chat.session_id}/")
    chat.page.context.set_offline(False)
    expect(chat.result("Meanwhile.")).to_be_visible()
    assert len(chat.seqs) == len(set(chat.seqs))


@pytest.mark.parametrize("width", [1280, 390])
def test_connection_warning_leaves_stop_usable_and_disappears(open_page, server, width: int):
    page = open_page(server, may_complain=True, viewport={"width": width, "height": 700})
    chat = Chat(page, server).start(
        script(call("message", {"type": "ask", "text": "Shall I go on?", "options": ["Go on"]}))
    )
    expect(page.get_by_role("button", name="Go on")).to_be_visible()
    page.context.set_offline(True)
    chat.say("Go on.")
    said = page.locator("#toasts", has_text="The server cannot be reached")
    expect(said).to_be_visible()
    page.get_by_role("button", name="Stop").click(trial=True)
    page.context.set_offline(False)
    expect(said).to_have_count(0)


def test_page_reports_an_ended_login(chat: Chat):
    chat.start(script(result("First.\n\n" + "A line.\n\n" * 100)))
    expect(chat.result("First.")).to_be_visible()
    chat.page.context.clear_cookies()
    chat.page.evaluate("window.dispatchEvent(new Event('online'))")
    said = chat.page.locator("#connection")
    expect(said).to_contain_text("You are signed out")
    expect(said).to_be_in_viewport(ratio=1)
    chat.page.evaluate("window.scrollTo(0, 0)")
    expect(said).to_be_in_viewport(ratio=1)


def test_unchanged_card_is_not_replaced_after_a_reconnect(chat: Chat):
    chat.start(script(call("message", {"type": "ask", "text": "Shall I go on?", "options": ["Go on"]})))
    expect(chat.page.get_by_role("button", name="Go on")).to_be_visible()
    chat.page.evaluate(
        """() => {
            window.card = document.querySelector(".ask-card");
            window.heard = 0;
            document.body.addEventListener("htmx:wsAfterMessage", () => (window.heard += 1));
            window.dispatchEvent(new Event("online"));
        }"""
    )
    until(lambda: chat.page.evaluate("window.heard"))
    assert chat.page.evaluate("window.card.isConnected")
