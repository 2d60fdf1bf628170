"""Scripts, markup and links in all texts of users, tools and models.

Nothing runs, nothing is fetched from elsewhere, and the content security policy has nothing to block.
"""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Chat, call, script
from tests.e2e.speaker import Speaker
from tests.server import Server

EVIL = "https://evil.example"
HTML = (
    "\"'><script>window.ran=1</script><img src=x onerror=window.ran=2><svg onload=window.ran=3>"
    f'<iframe src="javascript:parent.ran=4"></iframe><link rel=stylesheet href={EVIL}/a.css><style>@import "{EVIL}/b";'
    f"</style><base href={EVIL}><form action={EVIL}><button formaction=javascript:ran=5>x</form>{{{{ 7*7 }}}}"
)
LINKS = (
    f"![p]({EVIL}/p.png) [x](javascript:window.ran=6) [y](data:text/html,x) ![q](//evil.example/q.png) "
    f"![r][r]\n\n[r]: {EVIL}/r.png\n\n<javascript:window.ran=7>"
)
MATH = rf"$\text{{<img src=x onerror=window.ran=8>}}$ $$\href{{javascript:ran=9}}{{x}}$$ \(\style{{background:url({EVIL})}}{{x}}\)"
FORMULA = r"$x^2 \text{<script>window.ran=10</script>}$"
DIAGRAM = f"""```mermaid
flowchart LR
  A["<img src=x onerror=parent.ran=11>"] --> B["<script>parent.ran=12</script>"]
  B --> C["<a href='javascript:parent.ran=13'>c</a>"]
  click A href "javascript:parent.ran=14"
  click B href "{EVIL}/click" _top
```"""
ALL = f"{HTML}\n\n{LINKS}\n\n{MATH}\n\n{FORMULA}\n\n| {HTML} |\n|---|\n| {HTML} |\n\n- [ ] {HTML}\n\na[^1]\n\n[^1]: {HTML} {LINKS}"
NAME = "<img src=x onerror=window.ran=15>.txt"


@pytest.fixture
def guarded(open_page: Callable[..., Page], server: Server) -> Iterator[Page]:
    """Return a page. At the end, all its requests must have gone to our server, and no payload may have run."""
    page = open_page(server)
    asked: list[str] = []
    ran: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: (ran.append(dialog.message), dialog.dismiss()))
    page.on("framenavigated", lambda frame: asked.append(frame.url))
    page.on("popup", lambda popup: ran.append(popup.url))
    yield page
    own = (server.base_url, server.base_url.replace("http", "ws"), "data:image/", "about:blank", "blob:")
    assert [url for url in asked if not url.startswith(own)] == []
    assert ran == []


def require_unharmed(page: Page) -> None:
    assert page.evaluate("window.ran") is None
    assert page.locator("main script, main base, main link, main style, main [onerror], main [onload]").count() == 0


def test_payloads_in_messages_tools_plans_files_questions_and_titles(guarded: Page, server: Server) -> None:
    chat = Chat(guarded, server)
    steps = [{"title": HTML, "status": "in_progress"}, {"title": LINKS, "status": "pending"}]
    work = [
        call("plan", {"action": "update", "steps": steps}),
        call("file", {"action": "write", "path": NAME, "content": ALL}),
        call("shell", {"command": f"cat '{NAME}'; cat '{NAME}' >&2; exit 3"}),
        call("file", {"action": "edit", "path": NAME, "old": "window", "new": HTML}),
        call("memory", {"action": "remember", "text": HTML + LINKS}),
        call(HTML, {HTML: HTML}),
        call("message", {"type": "info", "text": ALL, "attachments": [NAME]}),
        call("message", {"type": "ask", "text": ALL, "options": [HTML, LINKS]}),
        call("message", {"type": "result", "text": ALL, "attachments": [NAME], "suggestions": [HTML, LINKS]}),
    ]
    chat.start(HTML + "\n" + script(*work))
    expect(chat.state).to_contain_text("Asks you")
    for address in ("/inbox/", "/", chat.page.url):
        guarded.goto(address)
        require_unharmed(guarded)
    guarded.locator(".options button").first.click()
    expect(chat.state).to_have_text("Done")
    title = guarded.get_by_label("Title")
    title.fill(HTML[:200])
    title.press("Tab")
    place = guarded.url.partition("#")[0]
    for _ in range(2):  # opened parts can contain more to open
        for details in guarded.locator("#entries details").all():
            details.evaluate("it => it.open = true")
        expect(guarded.locator("#entries details[open] > .later > a:only-child")).to_have_count(0)
    require_unharmed(guarded)
    addresses = ["", "context/", "why/", "versions/"]
    for address in (*(place + address for address in addresses), "/?q=window", "/memory/", "/usage/", "/settings/"):
        guarded.goto(address)
        require_unharmed(guarded)


def test_payloads_in_streamed_answers_with_formulas_and_diagrams(
    guarded: Page, server: Server, speaker: Speaker
) -> None:
    chat = Chat(guarded, server)
    speaker.says(f"{ALL}\n\n{DIAGRAM}\n\nThe end.", suggestions=[HTML])
    chat.start("Explain.", model="speaker")
    expect(chat.live).to_contain_text("window.ran=1")
    require_unharmed(guarded)
    speaker.goes_on()
    expect(chat.state).to_have_text("Done")
    figure = chat.page.locator(".diagram")
    figure.scroll_into_view_if_needed()
    expect(chat.page.locator(".diagram.shown")).to_be_visible()
    frame = guarded.frame_locator(".diagram iframe")
    expect(frame.locator("svg")).to_be_visible()
    expect(frame.locator("a, img, script:not([src])")).to_have_count(0)
    require_unharmed(guarded)
    guarded.reload()
    require_unharmed(guarded)


def test_payloads_in_provider_errors(guarded: Page, server: Server, speaker: Speaker) -> None:
    speaker.refuses(HTML + LINKS)
    chat = Chat(guarded, server)
    chat.start("Say hello.", model="speaker")
    expect(guarded.locator(".failure")).to_contain_text("window.ran=1")
    require_unharmed(guarded)


def test_payloads_in_thoughts(guarded: Page, server: Server, speaker: Speaker) -> None:
    speaker.thinks(HTML + LINKS, then=HTML)
    chat = Chat(guarded, server)
    chat.start("Think.", model="speaker")
    speaker.goes_on()
    expect(chat.state).to_have_text("Done")
    guarded.locator("#entries .thought > summary").click()
    require_unharmed(guarded)
