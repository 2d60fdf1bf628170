"""A newcomer's first minutes without a model: sign-in, and the tour with its question, approval and result."""

import re

from playwright.sync_api import expect

from tests.e2e.conftest import Chat, sign_in


def test_sign_in_leads_to_the_first_message(open_page, server):
    page = open_page(server, signed_in=False)
    page.goto("/")
    page.wait_for_url(re.compile("/accounts/login/"))
    sign_in(page)
    expect(page.get_by_role("heading", name="What shall we work on?")).to_be_visible()
    expect(page.get_by_text("a scripted demo answers")).to_be_visible()


def test_one_click_signs_out(open_page, server):
    page = open_page(server, signed_in=False)
    sign_in(page)
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url(re.compile("/accounts/login/"))


def test_wrong_password_is_reported(open_page, server):
    page = open_page(server, signed_in=False)
    page.goto("/accounts/login/")
    page.get_by_label("Username").fill("ada")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator(".errorlist")).to_contain_text("not correct")


def test_tour_asks_waits_for_approval_and_delivers(chat: Chat):
    page = chat.start("Show me what you can do", model="default").page
    expect(page.locator("#entries").get_by_text("I am a scripted demo")).to_be_visible()
    expect(chat.state).to_contain_text("Asks you")
    expect(page.locator(".neighbours [aria-current=page]")).to_contain_text("Asks you")
    assert page.title().startswith("●")
    page.get_by_role("button", name="Yes, please").click()
    expect(page.locator(".answer")).to_contain_text("Yes, please")
    expect(chat.state).to_contain_text("Needs approval")
    card = page.locator(".ask-card", has_text="May the agent do this?")
    expect(card).to_contain_text("rm -rf drafts")
    card.get_by_placeholder("A note for the agent").fill("only the drafts")
    card.get_by_role("button", name="Approve once").click()
    expect(page.locator(".meta", has_text="Approved by ada")).to_contain_text("only the drafts")
    expect(chat.result("That was the tour")).to_be_visible()
    expect(chat.state).to_have_text("Done")
    expect(page.locator("#here .dot")).to_have_count(0)
    expect(card).to_have_count(0)


def test_files_and_plan_of_the_tour_survive_a_reload(chat: Chat):
    page = chat.start("Show me", model="default").page
    page.get_by_role("button", name="No, leave it").click()
    page.get_by_role("button", name="Approve once").click()
    expect(chat.state).to_have_text("Done")
    expect(page.locator("#plan li.done")).to_have_count(4)
    expect(page.locator("#files")).to_contain_text("report.md")
    expect(page.locator(".steps > summary")).to_contain_text(re.compile(r"\d steps"))
    shown = page.locator("#entries").inner_text()
    page.reload()
    assert page.locator("#entries").inner_text() == shown


def test_suggestion_fills_the_composer_and_can_be_undone(chat: Chat):
    page = chat.start("Show me", model="default").page
    page.get_by_role("button", name="No, leave it").click()
    page.get_by_role("button", name="Approve once").click()
    suggestion = page.get_by_role("list", name="Next steps").get_by_role("button").first
    chat.words.fill("Half a thought")
    suggestion.click()
    expect(chat.words).to_have_value(suggestion.inner_text())
    expect(chat.words).to_be_focused()
    page.keyboard.press("Control+z")
    expect(chat.words).to_have_value("Half a thought")


def test_report_can_be_downloaded(chat: Chat):
    page = chat.start("Show me", model="default").page
    expect(page.locator("#files")).to_contain_text("report.md")
    page.locator("#files").get_by_role("link", name="report.md").first.click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    assert download.value.path().read_text().startswith("# Report")
