"""A project from its creation to leaving it, and the page of a member who was removed."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Chat, call, result, script, sign_in
from tests.server import Server
from tests.waiting import takes_less_than

LEGS = {"name": "legs.md", "mimeType": "text/markdown", "buffer": b"The lander has four legs."}


def shared_project(page: Page, name: str) -> str:
    """Return the address of a new project in which bob can write."""
    page.goto("/projects/")
    page.locator("#main").get_by_label("Name").fill(name)
    page.get_by_role("button", name="Create").click()
    page.get_by_role("link", name="Share …").click()
    sheet = page.get_by_role("dialog")
    sheet.get_by_label("Username").fill("bob")
    sheet.get_by_label("May").select_option("write")
    sheet.get_by_role("button", name="Share").click()
    expect(sheet.get_by_role("listitem")).to_contain_text("bob")
    page.keyboard.press("Escape")
    return page.url


@pytest.fixture
def bob(open_page: Callable[..., Page], server: Server) -> Page:
    page = open_page(server, signed_in=False, may_complain=True)  # a 404 logs an error to the console
    sign_in(page, "bob")
    return page


def test_library_file_is_added_cited_and_opened_and_a_member_leaves(
    open_page: Callable[..., Page], server: Server, bob: Page
) -> None:
    ada = open_page(server)
    address = shared_project(ada, "Lander")
    ada.locator("#library-new").set_input_files(LEGS)
    ada.get_by_role("button", name="Add", exact=True).click()
    expect(ada.locator("#library-files")).to_contain_text("1 part")
    href = ada.get_by_role("link", name="legs.md", exact=True).get_attribute("href") or ""
    number = re.findall(r"\d+", href)[0]

    bob.goto("/projects/")
    bob.locator("#main").get_by_role("link", name="Lander").click()
    chat = Chat(bob, server)
    chat.start(script(call("library", {"query": "legs"}), result(f"It has [four legs](library:{number}/1).")))
    expect(chat.tool("library")).to_contain_text("Done")
    with bob.context.expect_page() as opened:
        chat.result("four legs").get_by_role("link", name="four legs").click()
    expect(opened.value.locator(".leaf-text")).to_have_text("The lander has four legs.")

    bob.goto(address)
    bob.get_by_role("link", name="Leave …").click()
    bob.get_by_role("link", name="Stay").click()
    bob.get_by_role("link", name="Leave …").click()
    bob.get_by_role("button", name="Leave").click()
    expect(bob.locator("#toasts")).to_contain_text("You have left “Lander”.")
    bob.goto(address)
    expect(bob.locator("h1")).to_have_text("Nothing here")


def test_page_of_a_removed_member_ends_within_a_second(
    open_page: Callable[..., Page], server: Server, bob: Page
) -> None:
    ada = open_page(server)
    address = shared_project(ada, "Orbiter")
    chat = Chat(ada, server).start(script(result("First.")))
    expect(chat.result("First.")).to_be_visible()
    bob.goto(ada.url)
    expect(Chat(bob, server).result("First.")).to_be_visible()
    said = bob.locator("#connection")
    expect(said).to_be_hidden()

    other = open_page(server)
    other.goto(address)
    other.get_by_role("link", name="Share …").click()
    other.get_by_role("dialog").get_by_role("button", name="Remove bob").click()
    with takes_less_than(1):
        expect(said).to_contain_text("no longer shared with you")
    expect(other.get_by_role("dialog")).to_contain_text("Only you see this project.")
    chat.say(script(result("Second.")))
    expect(chat.result("Second.")).to_be_visible()
    expect(Chat(bob, server).result("Second.")).to_have_count(0)
