"""Word documents and slides on their page: changes in colour, tables and notes, at any width, light and dark."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Chat, result, script
from tests.server import Server
from tests.tools_app.office import CASES

FILES = {
    "changes.docx": "changes by two authors",
    "cells.docx": "merged cells",
    "comments.docx": "comments with replies",
    "points.pptx": "numbered points",
    "talk.pptx": "notes of a slide",
}


@pytest.fixture
def view(open_page: Callable[..., Page], server: Server) -> Callable[..., Page]:
    """Return a function that opens the page of an uploaded document in a window of this width."""

    def show(name: str, width: int, scheme: str = "light") -> Page:
        page = open_page(server, viewport={"width": width, "height": 900}, color_scheme=scheme)
        chat = Chat(page, server)
        chat.start(script(result("Ready.")))
        expect(chat.state).to_have_text("Done")
        data = next(case.data for case in CASES if case.name == FILES[name])
        file = {"name": name, "mimeType": "application/octet-stream", "buffer": data}
        address = page.url.partition("?")[0].rstrip("/")
        page.locator("#files input[type=file]").set_input_files([file])
        expect(page.locator("#files")).to_contain_text(name)
        page.goto(f"{address}/view/{name}")
        return page

    return show


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (768, "dark"), (390, "light"), (390, "dark")])
def test_changes_are_coloured_and_named(view: Callable[..., Page], width: int, scheme: str) -> None:
    page = view("changes.docx", width, scheme)
    body = page.locator(".document")
    expect(body.locator("del", has_text="30")).to_have_css("text-decoration-line", "line-through")
    colors = {
        body.locator(tag).nth(-1).evaluate("element => getComputedStyle(element).backgroundColor")
        for tag in ("ins", "del", "p:last-child")
    }
    assert len(colors) == 3
    expect(body).to_contain_text("by B. Stein, 2026-03-11")
    assert page.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize("width", [1440, 390])
def test_tables_comments_points_and_notes(view: Callable[..., Page], width: int) -> None:
    page = view("cells.docx", width)
    expect(page.get_by_role("cell", name="Berlin")).to_have_attribute("rowspan", "2")
    expect(view("comments.docx", width).locator(".document .fact").first).to_contain_text("Too high?")
    expect(view("talk.pptx", width).locator(".speaker-notes")).to_contain_text("Say 1,200 first")
    points = view("points.pptx", width)
    expect(points.locator(".document")).to_contain_text("4. Fourth")
    assert points.evaluate("document.documentElement.scrollWidth") == width
