"""Words of a model in the same reply as a call, shown once above its card or message on every path to the page."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tasks_app.models import ContextEntry
from tests.pushes import pushed
from tests.tasks_app.pages.conftest import Browser

ESSAY = "The **Danube** rises in Donaueschingen.\n\nIt ends in the Black Sea."


@pytest.fixture
def said(called: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that appends a message with words before it, and returns its entry."""

    def append(words: str, text: str, kind: str = "result", status: str = "succeeded", **arguments: Any) -> Any:
        written = json.dumps({"type": kind, "text": text} | arguments)
        return called("message", written, status, status, content=words)[0]

    return append


@pytest.fixture
def show(alices: Browser, session: Any) -> Callable[[], str]:
    return lambda: alices.page(session.get_absolute_url())


@pytest.mark.parametrize(
    ("kind", "status"), [("info", "succeeded"), ("result", "succeeded"), ("ask", "waiting"), ("ask", "succeeded")]
)
def test_words_are_shown_above_the_message(kind: str, status: str, show: Any, said: Any) -> None:
    said(ESSAY, "All said above.", kind, status)
    page = show()
    assert page.index("The <strong>Danube</strong> rises") < page.index("All said above.")
    assert page.count("It ends in the Black Sea.") == 1


def test_live_update_has_the_words_and_announces_them(said: Any, alice: Any) -> None:
    push = pushed(said(ESSAY, "All said above."), alice)
    assert push.index("The <strong>Danube</strong> rises") < push.index("All said above.")
    announced = push.partition('id="announcer"')[2]
    assert announced.index("It ends in the Black Sea.") < announced.index("All said above.")


def test_api_has_the_words_as_content(said: Any, alices: Browser, session: Any) -> None:
    entry = said(ESSAY, "All said above.")
    rows = alices.get(f"/api/v1/sessions/{session.pk}/entries/").json()["results"]
    (row,) = [row for row in rows if row["seq"] == entry.seq]
    assert (row["content"], row["tool_call"]["arguments"]["text"]) == (ESSAY, "All said above.")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("It is 42.", "It is 42."),
        ("It is 42.\n", "  It is\n42."),
        ("It is 42.", "It is 42. I have counted twice."),
        ("I have counted twice.\n\nIt is 42.", "It is 42."),
    ],
)
def test_words_repeated_by_the_message_are_shown_once(words: str, text: str, show: Any, said: Any) -> None:
    said(words, text)
    assert " ".join(show().split()).count("It is 42.") == 1
    assert ("counted twice" in show()) == ("twice" in words + text)


def test_words_before_an_invalid_message_are_shown(show: Any, said: Any) -> None:
    said(ESSAY, "All said above.", attachments=["missing.txt"], status="failed")
    assert "It ends in the Black Sea." in show()


@pytest.mark.parametrize("status", ["blocked", "rejected"])
def test_words_before_a_refused_message_are_hidden(status: str, show: Any, said: Any) -> None:
    said(ESSAY, "All said above.", status=status)
    assert "Black Sea" not in show()


def test_words_without_a_message_are_unchanged(show: Any, recorded: Any) -> None:
    recorded("ai_message", "Cut short", metadata={"status": "interrupted"})
    page = show()
    assert "Cut short" in page
    assert "Interrupted here." in page


# --- before any other call -------------------------------------------------------------------------------------------


def test_words_before_a_call_are_above_its_card(show: Any, called: Any, alice: Any) -> None:
    entry = called("shell", '{"command": "ls"}', "a.txt", content="I look **around**.\n\n")[0]
    for html in (show(), pushed(entry, alice)):
        assert html.index("I look <strong>around</strong>.") < html.index('<details class="tool"')
        assert html.count("<strong>around</strong>") == 1
    assert "I look **around**." in pushed(entry, alice).partition('id="announcer"')[2]


def test_words_before_a_blocked_call_are_shown(show: Any, called: Any) -> None:
    called("shell", '{"command": "ls"}', "Refused.", "blocked", content="I look around.")
    assert "I look around." in show()


@pytest.mark.parametrize("tool", ["shell", "message"])
def test_output_filter_hides_words_unless_the_call_passed(show: Any, called: Any, tool: str) -> None:
    for status in ("succeeded", "failed", "blocked"):
        entry = called(tool, '{"type": "info", "text": "x"}', "So.", status, content=f"Words of {status}.")[0]
        ContextEntry.objects.filter(pk=entry.pk).update(metadata={"output_filter": True})
    page = show()
    assert "Words of succeeded." in page
    assert "Words of failed." not in page
    assert "Words of blocked." not in page
