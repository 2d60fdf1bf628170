"""The review of a task's end by rules: what it sends back, and what it lets pass."""

import pytest

from tools_app.hooks.base import PastCall
from tools_app.hooks.termination_review import ADVICE, fault


def made(tool="file", status="succeeded", content="…", **arguments):
    return PastCall(tool=tool, arguments=arguments, status=status, content=content)


WROTE = made(action="write", path="out/report.md")
READ = made(action="read", path="a.txt")
FAILED = made("shell", "failed", command="make")
SPOKE = made("message", type="info", text="…")
TESTED = made("shell", content="12 passed, 1 failed: test_clock\n[exit code 1, 0.4 s]", command="make test")
SEARCHED = made("search", content="<search_results>\n1. Bees of Ticino\n</search_results>", type="info", query="bees")
READ_PAGE = made("fetch_url", content="<web_page>\nThe lease ends in March.\n</web_page>", url="https://a.org")


@pytest.mark.parametrize(
    ("code", "text", "attachments", "past"),
    [
        ("NO_SEND", "I have attached the report.", [], []),
        ("NO_SEND", "Der Bericht ist im Anhang.", [], [READ]),
        ("UNSENT_RESULTS", "The analysis shows three findings.", [], [WROTE]),
        ("UNSENT_RESULTS", "Here are your slides!", [], [made("slides", title="T", path="deck.pptx"), SPOKE]),
        ("UNSENT_RESULTS", "I ran the command successfully.", [], [TESTED]),
        ("UNSENT_RESULTS", "I searched the web and found what you asked for.", [], [SPOKE, SEARCHED]),
        ("UNSENT_RESULTS", "Here are the results.", [], [READ_PAGE]),
        ("ERROR_UNRESOLVED", "The project builds with make.", [], [READ, FAILED]),
        ("ERROR_UNRESOLVED", "The project builds with make.", [], [FAILED, SPOKE]),
        ("GENERIC", "Hello! How can I help you today?", [], []),
        ("GENERIC", "Let me know if you need anything else.", [], [READ]),
        ("ACK_ONLY", "Sure, on it!", [], []),
        ("ACK_ONLY", "I will look into the logs and tell you what I find.", [], []),
        ("NO_SUBSTANTIVE", "Done.", [], [READ]),
        ("NO_SUBSTANTIVE", "The task is complete!", [], []),
        ("NO_SUBSTANTIVE", "…", [], []),
    ],
)
def test_it_is_sent_back(code, text, attachments, past):
    assert fault(text, attachments, past) == code
    assert code in ADVICE


@pytest.mark.parametrize(
    ("text", "attachments", "past"),
    [
        ("The capital of France is Paris.", [], []),
        ("42", [], []),
        ("I have attached the report.", ["out/report.md"], [WROTE]),
        ("You find it in report.md.", [], [WROTE]),
        ("The build failed: a header is missing.", [], [FAILED]),
        ("The project builds now.", [], [FAILED, made("shell", command="make")]),
        ("OK, the three tests pass now and the server answers.", [], [READ]),
        ("Here it is.", ["out/report.md"], [WROTE]),
        ("The lease ends in March. Let me know if you need the contract itself.", [], [READ]),
        ("I deleted the draft.", [], [made(action="delete", path="draft.md")]),
        ("It holds two lines.", [], [made(status="failed", action="write", path="x.md"), READ]),
        ("I ran the tests: one failed.", [], [TESTED]),
        ("I ran it: 12.", [], [TESTED]),
        ("I renamed the module everywhere.", [], [TESTED]),
        ("I found nothing about wasps.", [], [made("search", content="Nothing was found. Try other words.")]),
        ("Here are the results: it runs until March.", [], [READ_PAGE]),
        ("I ran it.", [], [made("shell", content="[exit code 0, 0.1 s]", command="touch a")]),
        ("Here is what I found.", [], [READ_PAGE, SPOKE]),
    ],
)
def test_it_passes(text, attachments, past):
    assert fault(text, attachments, past) == ""
