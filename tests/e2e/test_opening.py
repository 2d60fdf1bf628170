"""A session opens at its end without a jump, stays where a reader scrolls, and deep links lead to their entry."""

import json
import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import WAIT, Chat, call, result, script
from tests.server import Server
from tests.waiting import until

LONG = "\n\n".join(f"Paragraph {number} of a long answer." for number in range(60))
PICTURE = "python3 - <<'END'\nimport struct, zlib\nrow = b'\\0' + b'\\x20\\x80\\xc0' * 400\nchunk = lambda kind, data: struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))\nopen('a.png', 'wb').write(b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', 400, 900, 8, 2, 0, 0, 0)) + chunk(b'IDAT', zlib.compress(row * 900)) + chunk(b'IEND', b''))\nEND"
# Notes the distance to the end in each frame right before it is painted: a new observer is notified in the same frame,
# after those of the page. A timer could measure a picture that came after the frame.
WATCH = """window.distances = [];
(function look() {
  const html = document.documentElement;
  const beforePaint = new ResizeObserver(() => {
    beforePaint.disconnect();
    if (document.querySelector("#end")) distances.push(Math.round(html.scrollHeight - innerHeight - scrollY));
  });
  if (html) beforePaint.observe(html);
  requestAnimationFrame(look);
})();"""


def distance(page: Page) -> int:
    return int(page.evaluate("document.documentElement.scrollHeight - innerHeight - scrollY"))


def is_at_rest(page: Page) -> bool:
    before = page.evaluate("scrollY")
    page.wait_for_timeout(200)
    return bool(page.evaluate("scrollY") == before)


@pytest.fixture
def long_session(open_page: Callable[..., Page], server: Server) -> Chat:
    chat = Chat(open_page(server), server)
    chat.start(script(call("shell", {"command": PICTURE}), result(f"{LONG}\n\n![a](a.png)\n\nThe last line.")))
    expect(chat.state).to_have_text("Done")
    return chat


@pytest.mark.parametrize("width", [1440, 768, 390])
def test_session_opens_at_its_end_without_a_jump(long_session: Chat, width: int) -> None:
    page = long_session.page
    page.set_viewport_size({"width": width, "height": 800})
    page.add_init_script(WATCH)
    page.goto(page.url.partition("#")[0])
    expect(page.get_by_text("The last line.", exact=True)).to_be_in_viewport()
    page.wait_for_load_state("networkidle")
    assert distance(page) <= 2
    distances = json.loads(page.evaluate("JSON.stringify(distances)"))
    assert max(distances) <= 120, "each painted frame shows the end"


def test_reader_is_not_pulled_down(long_session: Chat) -> None:
    page = long_session.page
    long_session.say(script(call("shell", {"command": WAIT}), result("More.")))
    expect(long_session.tool("shell").last).to_be_visible()
    page.goto(page.url.partition("#")[0])
    expect(long_session.tool("shell").last).to_be_in_viewport()
    page.mouse.move(600, 300)
    page.mouse.wheel(0, -1500)
    assert until(lambda: distance(page) > 1000 and is_at_rest(page))
    read = page.get_by_text("Paragraph 40 of a long answer.", exact=True)
    before = read.bounding_box()
    long_session.end_wait()
    expect(long_session.result("More.")).to_be_attached()
    after = read.bounding_box()
    assert before
    assert after
    assert abs(after["y"] - before["y"]) < 2, "the text stays where it is read"


def test_link_to_an_entry_shows_that_entry(long_session: Chat) -> None:
    page = long_session.page
    first = page.locator("#entries .entry").first
    address = f"{page.url.partition('#')[0]}#{first.get_attribute('id')}"
    page.goto("about:blank")
    page.goto(address)
    expect(first).to_be_in_viewport()
    page.wait_for_load_state("networkidle")
    expect(first).to_be_in_viewport()
    assert distance(page) > 500
    expect(page).to_have_url(re.compile(r"#e\d+$"))
