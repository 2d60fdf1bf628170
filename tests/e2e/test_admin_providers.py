"""Providers in the admin: order routes by dragging, test a provider, force its breaker open."""

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Chat


@pytest.fixture
def page(chat: Chat) -> Page:
    return chat.page


def test_dragging_a_route_changes_the_order(page: Page) -> None:
    page.set_viewport_size({"width": 1280, "height": 1400})  # the bar with “Save” covers the end of the window
    page.goto("/admin/llm_app/logicalmodel/")
    expect(page.get_by_text("one/demo, then two/demo")).to_be_visible()
    page.get_by_role("link", name="routed", exact=True).click()
    handles = page.locator("#routes-data .original .cursor-move")
    expect(handles).to_have_count(2)
    expect(handles.nth(0)).to_be_visible()
    first, second = handles.nth(0).bounding_box(), handles.nth(1).bounding_box()
    assert first is not None
    assert second is not None
    page.mouse.move(second["x"] + 10, second["y"] + 10)
    page.mouse.down()
    for height in (second["y"], first["y"] + 20, first["y"], first["y"] - 5):
        page.mouse.move(first["x"] + 10, height, steps=5)
    page.mouse.up()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("two/demo, then one/demo")).to_be_visible()


def test_testing_a_provider_and_forcing_its_breaker_open(page: Page) -> None:
    page.goto("/admin/llm_app/provider/")
    page.get_by_role("link", name="one", exact=True).click()
    page.get_by_role("button", name="Test this provider").click()
    expect(page.get_by_text("one, demo: It works")).to_be_visible()
    page.get_by_role("link", name="one", exact=True).click()
    page.get_by_role("button", name="Force the breaker open").click()
    expect(page.get_by_text("open, forced", exact=True)).to_be_visible()
    page.goto("/admin/llm_app/breakerchange/")
    expect(page.get_by_text("Forced open.")).to_be_visible()
