"""A request that the provider refuses: administrators get the reason and a link, members get advice."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.e2e.conftest import Chat, sign_in
from tests.e2e.speaker import Speaker
from tests.server import Server

WHY = "Invalid schema for function 'file': In context=('properties', 'lines'), array schema missing items."


def test_administrator_gets_the_reason_and_member_gets_advice(
    open_page: Callable[..., Page], server: Server, speaker: Speaker
) -> None:
    speaker.refuses(WHY)
    page = open_page(server)
    Chat(page, server).start("Say hello.", model="speaker")
    card = page.locator(".failure")
    expect(card).to_contain_text("The model provider refused the request.")
    expect(card).to_contain_text(WHY)
    card.get_by_role("link", name="speaker/any").click()
    expect(page.locator("#content, main").first).to_contain_text(WHY)

    member = open_page(server, signed_in=False)
    sign_in(member, "bob")
    Chat(member, server).start("Say hello.", model="speaker")
    expect(member.locator(".failure")).to_contain_text("The model provider refused the request.")
    expect(member.locator(".failure")).not_to_contain_text("Invalid schema")
