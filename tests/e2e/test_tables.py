"""Tables in an answer: readable at any width, with whole words and numbers, in scrollable frames."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.conftest import Chat, result, script
from tests.server import Server
from tests.waiting import until

TINY = "| A | B |\n|---|---|\n| 1 | yes |"
SET = "| Name | Note | Price |\n|:--|:-:|--:|\n| Chair | new | 10000 |\n| Lamp | 2026-11-22 | 1 250,50 € |"
LONG = f"""| File | Where | Command |
|---|---|---|
| a.py | <https://example.org/{"a-very-long-path/" * 12}end.html> | `curl --silent {"x" * 90}` |
| b.py | {"Some words that say what it is about. " * 6} | `ls` |"""
MANY = "\n".join(
    [
        "| Month | " + " | ".join(f"Region {n}" for n in range(14)) + " |",
        "|" + "---|" + "---:|" * 14,
        *("| " + " | ".join([month, *(["10000"] * 14)]) + " |" for month in ("January", "February")),
    ]
)
WIDTHS = pytest.mark.parametrize("width", [1440, 360])
LINES = "cell => { const r = document.createRange(); r.selectNodeContents(cell); return r.getClientRects().length }"


@pytest.fixture
def frames(open_page: Callable[..., Page], server: Server, width: int) -> Locator:
    """Return the frames of the four tables in a window of this width."""
    chat = Chat(open_page(server, viewport={"width": width, "height": 900}), server)
    chat.start(script(result("\n\n".join([TINY, SET, LONG, MANY]))))
    expect(chat.state).to_have_text("Done")
    frames = chat.result("yes").get_by_role("region", name="Table: ")
    expect(frames).to_have_count(4)
    return frames


def lines(frame: Locator, text: str) -> set[int]:
    """Return in how many lines the cells with this text are wrapped."""
    cells = frame.get_by_role("cell", name=text, exact=True)
    expect(cells.first).to_be_visible()
    return until(lambda: _if_drawn(set(cells.evaluate_all(f"cells => cells.map({LINES})"))))


def _if_drawn(counts: set[int]) -> set[int]:
    """Return '' until a cell is rendered, as the answer may be replacing its stream."""
    return set() if 0 in counts else counts


@WIDTHS
def test_numbers_dates_and_short_words_are_not_wrapped(frames: Locator, width: int) -> None:
    for number, text in ((0, "yes"), (1, "10000"), (1, "2026-11-22"), (1, "1 250,50 €"), (2, "b.py"), (3, "10000")):
        assert lines(frames.nth(number), text) == {1}, text


@WIDTHS
def test_wide_table_scrolls_in_its_frame(frames: Locator, width: int) -> None:
    assert frames.page.evaluate("document.documentElement.scrollWidth") == width
    room = [frame.evaluate("frame => frame.scrollWidth - frame.clientWidth") for frame in frames.all()]
    assert room[:2] == [0, 0]
    assert room[3] > 100
    widest = frames.nth(2).get_by_role("cell").evaluate_all("cells => Math.max(...cells.map(c => c.offsetWidth))")
    assert widest < 420, "an address or a command is broken, not the layout"


@WIDTHS
def test_frame_is_scrollable_by_keyboard(frames: Locator, width: int) -> None:
    frames.nth(2).focus()
    frames.page.keyboard.press("Tab")
    link = frames.nth(2).get_by_role("link")
    expect(link).to_be_focused()
    frames.page.keyboard.press("Tab")
    expect(frames.nth(3)).to_be_focused()
    frames.page.keyboard.press("ArrowRight")
    frames.page.wait_for_function("frame => frame.scrollLeft > 0", arg=frames.nth(3).element_handle())


@pytest.mark.parametrize("width", [1440])
def test_focus_stays_in_a_replaced_answer(frames: Locator, width: int) -> None:
    """Replace the answer, as at the end of each task."""
    link = frames.nth(2).get_by_role("link")
    link.focus()
    drawn = link.element_handle()
    frames.page.evaluate("document.querySelector('.entry.result').dataset.seq = 2; dispatchEvent(new Event('online'))")
    until(lambda: not frames.page.evaluate("link => link.isConnected", drawn))
    expect(link).to_be_focused()


@pytest.mark.parametrize("width", [1440])
def test_columns_are_aligned_as_written(frames: Locator, width: int) -> None:
    alignment = "cells => cells.slice(0, 3).map(c => getComputedStyle(c).textAlign)"
    for role in ("columnheader", "cell"):
        cells = frames.nth(1).get_by_role(role)
        until(lambda cells=cells: cells.evaluate_all(alignment) == ["left", "center", "right"])
    assert frames.nth(0).get_by_role("cell").first.evaluate("c => getComputedStyle(c).textAlign") == "start"
