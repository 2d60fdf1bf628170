"""The list of sessions: found while typing, managed in a sheet, archived and taken back, on a phone in a drawer."""

import re
from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect

from tests.e2e.conftest import Chat, call, result, script
from tests.server import Server


def test_a_session_is_named_tagged_found_and_archived(chat: Chat):
    chat.start(script(result("Forty-two.")))
    expect(chat.result("Forty-two.")).to_be_visible()
    page, listed = chat.page, chat.page.locator("#session-list [aria-current=page]")
    listed.hover()
    page.locator("#session-list li:has([aria-current=page])").get_by_role("link", name=re.compile("^Manage ")).click()
    sheet = page.get_by_role("dialog", name="Session")
    sheet.get_by_label("Title").fill("The answer")
    sheet.get_by_label("Tags").fill("deep-thought")
    sheet.get_by_role("button", name="Save").click()
    expect(sheet).to_be_hidden()
    expect(listed).to_contain_text("The answer")

    page.goto("/inbox/")  # in reach from each page
    search = page.get_by_label("Search sessions")
    search.fill("tag:deep-thought forty-two")
    expect(page.locator("#found")).to_contain_text("The answer")
    search.fill("")
    expect(page.locator("#session-list")).to_be_visible()

    row = page.locator("#session-list li", has_text="The answer")
    row.hover()
    row.get_by_role("link", name="Manage The answer").click()
    page.get_by_role("button", name="Archive").click()
    expect(row).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(row).to_be_visible()


def shared_in_a_sheet(chat: Chat) -> Locator:
    """The sheet for sharing, in the session's page."""
    chat.start(script(result("Forty-two.")))
    expect(chat.result("Forty-two.")).to_be_visible()
    row = chat.page.locator("#session-list li:has([aria-current=page])")
    row.hover()
    row.get_by_role("link", name=re.compile("^Manage ")).click()
    chat.page.get_by_role("dialog").get_by_role("link", name="Share …").click()
    return chat.page.get_by_role("dialog", name=re.compile("^Share "))


def test_the_sheet_for_sharing_has_its_form_also_in_a_session(chat: Chat):
    sheet = shared_in_a_sheet(chat)
    sheet.get_by_label("Username").fill("bob")
    sheet.get_by_role("button", name="Share", exact=True).click()
    name, button = sheet.locator("li > span"), sheet.get_by_role("button", name="Remove bob")
    expect(name).to_contain_text("bob")
    middles = [place.evaluate("({ offsetTop: y, offsetHeight: h }) => y + h / 2") for place in (name, button)]
    assert abs(middles[0] - middles[1]) < 3  # in one line


def test_what_a_sheet_is_refused_stands_in_its_form_and_goes_with_what_succeeds(
    open_page: Callable[..., Page], server: Server
):
    chat = Chat(open_page(server, may_complain=True), server)
    sheet = shared_in_a_sheet(chat)
    for _ in range(2):
        sheet.get_by_label("Username").fill("nobody at all")
        sheet.get_by_role("button", name="Share", exact=True).click()
        expect(sheet.locator("form", has=chat.page.get_by_label("Username"))).to_contain_text(
            "There is no other person"
        )
    expect(chat.page.locator(".toast")).to_have_count(1)
    sheet.get_by_label("Username").fill("bob")
    sheet.get_by_role("button", name="Share", exact=True).click()
    expect(sheet.get_by_role("button", name="Remove bob")).to_be_visible()
    expect(chat.page.locator(".toast")).to_have_count(0)


def test_an_error_goes_when_it_was_read(open_page: Callable[..., Page], server: Server):
    page = open_page(server, viewport={"width": 1280, "height": 800})
    page.clock.install()
    page.goto("/inbox/")
    page.evaluate("toast('That went wrong.')")
    page.clock.run_for(25_000)
    expect(page.locator(".toast")).to_be_visible()
    page.locator(".toast").hover()
    page.clock.run_for(60_000)
    expect(page.locator(".toast")).to_be_visible()
    page.mouse.move(0, 700)
    page.clock.run_for(31_000)
    expect(page.locator(".toast")).to_have_count(0)


def test_a_new_title_reaches_each_open_page(chat: Chat):
    chat.start(script(result("Forty-two.")))
    expect(chat.result("Forty-two.")).to_be_visible()
    page, other = chat.page, chat.page.context.new_page()
    other.goto(page.url)
    expect(other.locator("[data-connected], #entries").first).to_be_visible()
    page.get_by_label("Title").fill("The answer")
    page.get_by_label("Title").press("Tab")
    for tab in (page, other):
        expect(tab).to_have_title("The answer · agentsite")
        expect(tab.get_by_label("Title")).to_have_value("The answer")
        expect(tab.locator("#session-list [aria-current=page]")).to_contain_text("The answer")


def test_on_a_phone_the_list_is_a_drawer(open_page: Callable[..., Page], server: Server):
    page = open_page(server, viewport={"width": 360, "height": 740})
    page.goto("/sessions/")
    expect(page.locator("#session-list")).to_be_hidden()
    page.get_by_role("button", name="Menu").click()
    expect(page.locator("#session-list")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#session-list")).to_be_hidden()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_what_waits_is_counted_beside_each_page_as_it_comes_and_goes(
    chat: Chat, open_page: Callable[..., Page], server: Server
) -> None:
    other = open_page(server)
    other.goto("/agents/")
    count, elsewhere = chat.page.locator("#waiting-count"), other.locator("#waiting-count")
    before = int(re.sub(r"\D", "", count.inner_text()) or "0")
    question = call("message", {"type": "ask", "text": "Which one?", "options": ["The first", "The second"]})
    chat.start(script(question, result("Taken.")))
    expect(count).to_have_text(re.compile(rf"^{before + 1}\b"))
    other.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # one comes back to that page
    expect(elsewhere).to_have_text(re.compile(rf"^{before + 1}\b"))
    chat.page.get_by_role("button", name="The first").click()
    expect(chat.result("Taken.")).to_be_visible()
    expect(count).to_have_text(re.compile(rf"^{before}\b" if before else "^$"))
