"""No page has a fault that axe calls serious, in the light or the dark theme."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import axe_playwright_python
import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Chat, call, result, script
from tests.e2e.speaker import Speaker
from tests.server import Server

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()
RUN = "axe.run(document, {resultTypes: ['violations']}).then(found => JSON.stringify(found.violations))"
ANSWER = """# A title

Some *words*, `code`, $x^2$ and a [link](https://example.org).[^1]

- [x] done
- [ ] open

| a | b |
|---|---|
| 1 | 2 |

> שלום

$$\\frac{1}{2}$$

```mermaid
graph LR; A --> B
```

[^1]: A note.
"""
CODE = "\n```py\n" + "def f(x):  # a comment\n    return 'text' + str(1)\n" * 20 + "```\n"
PAGES = ["/", "/inbox/", "/memory/", "/usage/", "/settings/", "/agents/", "/nowhere/", "/api/docs/"]
OF_SESSION = ["context/", "why/", "versions/", "delete/"]


def faults(page: Page) -> list[Any]:
    """Return serious and critical faults. The debugger injects axe, as the page's policy allows no other scripts."""
    found = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        debugger = page.context.new_cdp_session(page)
        debugger.send("Runtime.evaluate", {"expression": AXE})
        said = debugger.send("Runtime.evaluate", {"expression": RUN, "awaitPromise": True, "returnByValue": True})
        violations = json.loads(said["result"]["value"])
        serious = [one for one in violations if one["impact"] in ("serious", "critical")]
        found += [(scheme, one["id"], [node["html"][:200] for node in one["nodes"]]) for one in serious]
    return found


@pytest.mark.parametrize("address", PAGES)
def test_page_is_accessible(address: str, open_page: Callable[..., Page], server: Server) -> None:
    page = open_page(server, may_complain=address == "/nowhere/")  # a 404 logs an error to the console
    page.goto(address)
    if address == "/api/docs/":
        page.locator(".opblock-summary-control").first.click()
        expect(page.locator(".opblock-body").first).to_be_visible()
    assert faults(page) == []


def test_sign_in_is_accessible(open_page: Callable[..., Page], server: Server) -> None:
    page = open_page(server, signed_in=False)
    expect(page.get_by_label("Username")).to_be_visible()
    assert faults(page) == []


def test_answer_and_session_pages_are_accessible(chat: Chat, speaker: Speaker) -> None:
    speaker.says(ANSWER + CODE, pauses=0, suggestions=["Go on"])
    chat.start("Explain.", model="speaker")
    expect(chat.state).to_have_text("Done")
    chat.page.locator(".diagram").scroll_into_view_if_needed()
    expect(chat.page.locator(".diagram.shown")).to_be_visible()
    assert faults(chat.page) == []
    place = chat.page.url
    for address in OF_SESSION:
        chat.page.goto(place.partition("#")[0] + address)
        assert faults(chat.page) == [], address


def test_question_and_approval_cards_are_accessible(chat: Chat) -> None:
    asks = call("message", {"type": "ask", "text": "Which one?", "options": ["The first", "The second"]})
    chat.start(script(call("shell", {"command": "git push --force" + "\necho ran" * 30}), asks, result()))
    approve = chat.page.get_by_role("button", name="Approve once")
    expect(approve).to_be_visible()
    assert faults(chat.page) == []
    approve.click()
    expect(chat.page.get_by_role("button", name="The first")).to_be_visible()
    assert faults(chat.page) == []


def test_project_pages_are_accessible(open_page: Callable[..., Page], server: Server) -> None:
    """Check the pages with a file in the library, also on a phone."""
    page = open_page(server)
    page.goto("/projects/")
    page.locator("#main").get_by_label("Name").fill("Apollo")
    page.get_by_role("button", name="Create").click()
    project = page.url
    page.locator("#library-new").set_input_files({"name": "legs.md", "mimeType": "text/plain", "buffer": b"Four legs."})
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("#library-files")).to_contain_text("1 part")
    found = faults(page)
    page.get_by_role("link", name="legs.md", exact=True).click()
    expect(page.locator(".leaf-text")).to_have_text("Four legs.")
    found += faults(page)
    for address in ("/projects/", project, f"{project}share/", f"{project}delete/"):
        page.goto(address)
        found += faults(page)
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(project)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    assert found == []
