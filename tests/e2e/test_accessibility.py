"""Every page, with what an answer may hold, has nothing that axe calls serious, in light and in dark."""

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
    """What is serious or worse, as axe says it. Its script comes by the debugger: the page's policy lets none in."""
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
def test_a_page_has_no_serious_fault(address: str, open_page: Callable[..., Page], server: Server) -> None:
    page = open_page(server, may_complain=address == "/nowhere/")  # a missing page is an error in the console
    page.goto(address)
    if address == "/api/docs/":
        page.locator(".opblock-summary-control").first.click()
        expect(page.locator(".opblock-body").first).to_be_visible()
    assert faults(page) == []


def test_the_sign_in_has_no_serious_fault(open_page: Callable[..., Page], server: Server) -> None:
    page = open_page(server, signed_in=False)
    expect(page.get_by_label("Username")).to_be_visible()
    assert faults(page) == []


def test_an_answer_and_the_pages_of_its_session_have_none(chat: Chat, speaker: Speaker) -> None:
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


def test_cards_that_ask_have_none(chat: Chat) -> None:
    asks = call("message", {"type": "ask", "text": "Which one?", "options": ["The first", "The second"]})
    chat.start(script(call("shell", {"command": "rm -rf nothing" + "\necho ran" * 30}), asks, result()))
    approve = chat.page.get_by_role("button", name="Approve once")
    expect(approve).to_be_visible()
    assert faults(chat.page) == []
    approve.click()
    expect(chat.page.get_by_role("button", name="The first")).to_be_visible()
    assert faults(chat.page) == []


def test_a_projects_pages_have_no_serious_fault(open_page: Callable[..., Page], server: Server) -> None:
    """Each as it is with a file in the library, also on a phone."""
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
