"""Stop, interjections, queued messages: what a person says while a task runs."""

from playwright.sync_api import expect

from tests.e2e.conftest import WAIT, Chat, call, result, script, sign_in


def stalling(chat: Chat) -> Chat:
    chat.start(script(result("Never said.", stall=60)))
    expect(chat.state).to_contain_text("Thinking")
    return chat


def test_stop_ends_a_model_that_stalls(chat: Chat):
    stalling(chat).page.get_by_role("button", name="Stop").click()
    expect(chat.state).to_have_text("Stopped")
    expect(chat.page.locator(".failure")).to_contain_text("Write a message to go on from here.")
    expect(chat.page.get_by_role("button", name="Stop")).to_have_count(0)


def test_it_goes_on_after_a_stop(chat: Chat):
    stalling(chat).page.get_by_role("button", name="Stop").click()
    chat.say(script(result("Gone on.")))
    expect(chat.result("Gone on.")).to_be_visible()
    expect(chat.page.get_by_role("button", name="Go on")).to_be_hidden()


def test_a_message_interrupts_a_tool_and_is_read_at_once(chat: Chat):
    chat.start(script(call("shell", {"command": "sleep 60"}), result("Never said.")))
    expect(chat.tool("shell")).to_contain_text("Running")
    chat.say(script(result("Heard you.")), key="Control+Enter")
    expect(chat.words).to_have_value("")
    expect(chat.tool("shell")).to_contain_text("Interrupted")
    expect(chat.result("Heard you.")).to_be_visible()


def test_alt_and_enter_queue_a_message_for_the_next_task(chat: Chat):
    chat.start(script(call("shell", {"command": WAIT}), result("First.")))
    expect(chat.tool("shell")).to_contain_text("Running")
    chat.say(script(result("Second.")), key="Alt+Enter")
    waiting = chat.page.get_by_role("list", name="Waiting messages")
    expect(waiting).to_contain_text("Next task")
    chat.let_go()
    expect(chat.result("First.")).to_be_visible()
    expect(chat.result("Second.")).to_be_visible()
    expect(waiting.get_by_role("listitem")).to_have_count(0)


def test_an_answer_given_elsewhere_settles_the_question_here(chat: Chat, open_page, server):
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


def test_who_decides_too_late_reads_that_somebody_else_has(chat: Chat, open_page, server):
    """The card that was clicked is replaced before its answer comes: htmx finds nothing from there."""
    chat.start(script(call("shell", {"command": "rm -rf everything"}), result("Asked.")))
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


def test_who_may_only_read_follows_without_errors(chat: Chat, open_page, server):
    """What the page of a reader does not have is not sent to it."""
    chat.start(script(call("shell", {"command": WAIT}), result("Seen by both.")))
    expect(chat.tool("shell")).to_contain_text("Running")
    server.call("POST", f"sessions/{chat.session_id}/members/", {"user": "bob"})
    reader = open_page(server, signed_in=False)
    sign_in(reader, "bob")
    reader.goto(chat.page.url)
    expect(reader.locator("#state")).to_contain_text("Working")
    chat.let_go()
    expect(reader.locator(".entry.result", has_text="Seen by both.")).to_be_visible()


def test_a_rejection_with_a_note_reaches_the_agent(chat: Chat):
    chat.start(script(call("shell", {"command": "rm -rf everything"}), result("Left as it was.")))
    card = chat.page.locator(".ask-card")
    card.get_by_placeholder("A note for the agent").fill("keep it")
    card.get_by_role("button", name="Reject").click()
    expect(chat.tool("shell")).to_contain_text("Rejected")
    expect(chat.page.locator(".meta", has_text="Rejected by ada")).to_contain_text("keep it")
    expect(chat.result("Left as it was.")).to_be_visible()


def test_a_failure_says_what_to_do_and_offers_to_try_again(chat: Chat):
    chat.start(script("no call", "no call", "no call", "no call"))
    expect(chat.state).to_have_text("Failed")
    expect(chat.page.locator(".failure")).to_contain_text("Try again")
    chat.page.get_by_role("button", name="Try again").click()
    expect(chat.page.locator(".user_message", has_text="go on")).to_be_visible()
    expect(chat.page.get_by_role("button", name="Try again")).to_be_hidden()
