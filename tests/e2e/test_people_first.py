"""Stop, interjections and queued messages while a task runs."""

from playwright.sync_api import expect

from tests.e2e.conftest import WAIT, Chat, call, result, script, sign_in


def stalling(chat: Chat) -> Chat:
    chat.start(script(result("Never said.", stall=60)))
    expect(chat.state).to_contain_text("Thinking")
    return chat


def test_stop_ends_a_stalling_model(chat: Chat):
    stalling(chat).page.get_by_role("button", name="Stop").click()
    expect(chat.state).to_have_text("Stopped")
    expect(chat.page.locator(".failure")).to_contain_text("Write a message to go on from here.")
    expect(chat.page.get_by_role("button", name="Stop")).to_have_count(0)


def test_message_after_a_stop_continues(chat: Chat):
    stalling(chat).page.get_by_role("button", name="Stop").click()
    chat.say(script(result("Gone on.")))
    expect(chat.result("Gone on.")).to_be_visible()
    expect(chat.page.get_by_role("button", name="Go on")).to_be_hidden()


def test_interrupting_message_is_read_immediately(chat: Chat):
    chat.start(script(call("shell", {"command": "sleep 60"}), result("Never said.")))
    expect(chat.tool("shell")).to_contain_text("Running")
    chat.say(script(result("Heard you.")), key="Control+Enter")
    expect(chat.words).to_have_value("")
    expect(chat.tool("shell")).to_contain_text("Interrupted")
    expect(chat.result("Heard you.")).to_be_visible()


def test_alt_enter_queues_a_message_for_the_next_task(chat: Chat):
    chat.start(script(call("shell", {"command": WAIT}), result("First.")))
    expect(chat.tool("shell")).to_contain_text("Running")
    chat.say(script(result("Second.")), key="Alt+Enter")
    waiting = chat.page.get_by_role("list", name="Waiting messages")
    expect(waiting).to_contain_text("Next task")
    chat.end_wait()
    expect(chat.result("First.")).to_be_visible()
    expect(chat.result("Second.")).to_be_visible()
    expect(waiting.get_by_role("listitem")).to_have_count(0)


def test_answer_given_elsewhere_updates_the_open_page(chat: Chat, open_page, server):
    ask = call("message", {"type": "ask", "text": "Red or blue?", "options": ["Red", "Blue"]})
    chat.start(script(ask, result("Thank you.")))
    expect(chat.page.get_by_role("button", name="Red")).to_be_visible()
    inbox = open_page(server)
    inbox.goto("/inbox/")
    card = inbox.locator(".waiting-item", has_text="Red or blue?")
    card.get_by_role("button", name="Blue").click()
    expect(card.locator(".answer")).to_contain_text("Blue")
    expect(chat.page.locator(".answer")).to_contain_text("Blue")
    expect(chat.page.get_by_role("button", name="Red")).to_have_count(0)
    expect(chat.result("Thank you.")).to_be_visible()


def test_late_decision_reports_that_the_call_was_decided(chat: Chat, open_page, server):
    """Replace the clicked card before its response arrives, so that htmx finds no target for it."""
    chat.start(script(call("shell", {"command": "git push --force"}), result("Asked.")))
    expect(chat.page.get_by_role("button", name="Approve once")).to_be_visible()
    late, held = open_page(server, may_complain=True), []
    late.goto(chat.page.url)
    late.route("**/approval/", lambda route: held.append(route))  # noqa: PLW0108  Playwright takes no built-in
    with late.expect_request("**/approval/"):
        late.get_by_role("button", name="Approve once").click()
    chat.page.get_by_role("button", name="Reject").click()
    expect(late.get_by_role("button", name="Approve once")).to_have_count(0)
    held[0].continue_()
    expect(late.locator("#toasts .bad")).to_contain_text("it was already given")


def test_reader_follows_without_errors(chat: Chat, open_page, server):
    """Check that fragments that a reader's page lacks are not sent to it."""
    chat.start(script(call("shell", {"command": WAIT}), result("Seen by both.")))
    expect(chat.tool("shell")).to_contain_text("Running")
    server.call("POST", f"sessions/{chat.session_id}/members/", {"user": "bob"})
    reader = open_page(server, signed_in=False)
    sign_in(reader, "bob")
    reader.goto(chat.page.url)
    expect(reader.locator("#state")).to_contain_text("Working")
    chat.end_wait()
    expect(reader.locator(".entry.result", has_text="Seen by both.")).to_be_visible()


def test_rejection_note_reaches_the_agent(chat: Chat):
    chat.start(script(call("shell", {"command": "git push --force"}), result("Left as it was.")))
    card = chat.page.locator(".ask-card")
    card.get_by_placeholder("A note for the agent").fill("keep it")
    card.get_by_role("button", name="Reject").click()
    expect(chat.tool("shell")).to_contain_text("Rejected")
    expect(chat.page.locator(".meta", has_text="Rejected by ada")).to_contain_text("keep it")
    expect(chat.result("Left as it was.")).to_be_visible()


def test_failure_has_advice_and_a_retry_button(chat: Chat):
    chat.start(script("no call", "no call", "no call", "no call"))
    expect(chat.state).to_have_text("Failed")
    expect(chat.page.locator(".failure")).to_contain_text("Try again")
    chat.page.get_by_role("button", name="Try again").click()
    expect(chat.page.locator(".user_message", has_text="go on")).to_be_visible()
    expect(chat.page.get_by_role("button", name="Try again")).to_be_hidden()
