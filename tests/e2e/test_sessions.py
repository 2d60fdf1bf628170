"""The list of sessions: search as you type, the sheet, archiving, and the drawer on a phone."""

import re
from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect

from tests.e2e.conftest import Chat, call, result, script
from tests.server import Server


def test_naming_tagging_finding_and_archiving_a_session(chat: Chat):
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

    page.goto("/inbox/")  # reachable from each page
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


def open_sharing_sheet(chat: Chat) -> Locator:
    """Open the sheet for sharing in the session's page."""
    chat.start(script(result("Forty-two.")))
    expect(chat.result("Forty-two.")).to_be_visible()
    row = chat.page.locator("#session-list li:has([aria-current=page])")
    row.hover()
    row.get_by_role("link", name=re.compile("^Manage ")).click()
    chat.page.get_by_role("dialog").get_by_role("link", name="Share …").click()
    return chat.page.get_by_role("dialog", name=re.compile("^Share "))


def test_sharing_sheet_has_its_form_in_a_session(chat: Chat):
    sheet = open_sharing_sheet(chat)
    sheet.get_by_label("Username").fill("bob")
    sheet.get_by_role("button", name="Share", exact=True).click()
    name, button = sheet.locator("li > span"), sheet.get_by_role("button", name="Remove bob")
    expect(name).to_contain_text("bob")
    middles = [place.evaluate("({ offsetTop: y, offsetHeight: h }) => y + h / 2") for place in (name, button)]
    assert abs(middles[0] - middles[1]) < 3  # in one line


def test_error_in_a_sheet_is_shown_until_the_next_success(open_page: Callable[..., Page], server: Server):
    chat = Chat(open_page(server, may_complain=True), server)
    sheet = open_sharing_sheet(chat)
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


def test_error_stays_while_hovered_and_then_disappears(open_page: Callable[..., Page], server: Server):
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


def test_new_title_reaches_open_pages(chat: Chat):
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


def test_list_is_a_drawer_on_a_phone(open_page: Callable[..., Page], server: Server):
    page = open_page(server, viewport={"width": 360, "height": 740})
    page.goto("/sessions/")
    expect(page.locator("#session-list")).to_be_hidden()
    page.get_by_role("button", name="Menu").click()
    expect(page.locator("#session-list")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#session-list")).to_be_hidden()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_inbox_count_is_updated_on_each_page(chat: Chat, open_page: Callable[..., Page], server: Server) -> None:
    other = open_page(server)
    other.goto("/agents/")
    count, elsewhere = chat.page.locator("#waiting-count"), other.locator("#waiting-count")
    before = int(re.sub(r"\D", "", count.inner_text()) or "0")
    question = call("message", {"type": "ask", "text": "Which one?", "options": ["The first", "The second"]})
    chat.start(script(question, result("Taken.")))
    expect(count).to_have_text(re.compile(rf"^{before + 1}\b"))
    other.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # the browser returns to that page
    expect(elsewhere).to_have_text(re.compile(rf"^{before + 1}\b"))
    chat.page.get_by_role("button", name="The first").click()
    expect(chat.result("Taken.")).to_be_visible()
    expect(count).to_have_text(re.compile(rf"^{before}\b" if before else "^$"))
