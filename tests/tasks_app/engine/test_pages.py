"""A model that only makes the calls named by results reads all of a long content, and nothing twice."""

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from llm_app.models import LLMLog, LogicalModel
from tasks_app.models import ContextCut, Limits, Session
from tasks_app.record import tokens
from tasks_app.worker import mcp_refresh
from tasks_app.workspace.folders import workspace_of
from tests import pages, strict_provider
from tests.provider import FakeProvider, Received, Reply
from tests.tasks_app.engine.conftest import Run
from tests.tools_app import documents, mcp_servers
from tools_app import policy
from tools_app.models import AllowedAddress, McpServer

HINT = re.compile(r"^\[.*(?:Next page|They are in \S+): (\w+)\((.+?)\)(?: …)?\]$", re.MULTILINE)
ARGUMENT = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|\d+|true)')
WINDOW = 200_000
LINES = [f"line {number} of größe {number % 7 * 'and more '}" for number in range(1, 20_001)]

Read = Callable[..., list[str]]


@pytest.fixture
def read(http_provider: FakeProvider, ask_http: Callable[..., Run]) -> Iterator[Read]:
    """Return the results of a first call and of all calls that follow from results."""
    LogicalModel.objects.update(context_window=WINDOW)

    def results_of(name: str, **arguments: Any) -> list[str]:
        calls = 0

        def answer(received: Received) -> Reply:
            nonlocal calls
            calls += 1
            results = [each["content"] for each in received.body["messages"] if each["role"] == "tool"]
            following = HINT.findall(results[-1]) if results else [(name, None)]
            tool, words = following[-1] if following else ("message", None)
            if words is not None:
                given = {key: json.loads(value) for key, value in ARGUMENT.findall(words)}
            else:
                given = arguments if tool == name else {"type": "result", "text": "I have read all of it."}
            return strict_provider.call(received, tool, given, f"call_{calls}")

        http_provider.replies = [answer]
        run = ask_http("Read it.", max_iterations=200)
        assert run.advance().state == "done"
        return [content for _, content in run.results()[:-1]]

    yield results_of
    kept = list(Session.objects.get().workspace_path.glob(".results/*"))
    assert len(kept) <= 1, "reading what is kept makes no copy of it"


def test_a_file_of_20000_lines(read: Read, http_session: Session) -> None:
    text = "".join(line + ("\r\n" if number % 2 else "\n") for number, line in enumerate(LINES))
    workspace_of(http_session).write_bytes("long.txt", text.encode())
    results = read("file", action="read", path="long.txt")
    assert re.findall(r"^ *(\d+)\t(.*)$", "\n".join(results), re.MULTILINE) == [
        (str(number), line) for number, line in enumerate(LINES, 1)
    ]
    budget = Limits().result_tokens_in(WINDOW)
    assert all(tokens.estimate(each) <= budget for each in results)
    shorter = [each for each in results[:-1] if tokens.estimate(each) <= budget * 9 // 10]
    assert len(shorter) <= ContextCut.objects.count() + 1, "only where the window is full"


def test_a_window_of_32000_reads_4000_lines_in_few_steps(
    read: Read, http_session: Session, http_provider: FakeProvider
) -> None:
    """Before the cut moves, a page ends where the window is full, and it is never much shorter."""
    LogicalModel.objects.update(context_window=32_000)
    lines = [f"    line_{number} = compute({number}, 'value number {number % 7}')" for number in range(1, 4_001)]
    workspace_of(http_session).write_bytes("long.py", "\n".join(lines).encode())
    results = read("file", action="read", path="long.py")
    assert re.findall(r"^ *\d+\t(.*)$", "\n".join(results), re.MULTILINE) == lines
    assert len(results) <= 30
    sizes = [len(result.encode()) for result in results[:-1]]
    said = tokens.page_bytes(Limits().result_tokens_in(32_000))
    assert f"at most about {said} bytes" in http_provider.received[0].raw.decode()
    assert all(5_500 < size <= said for size in sizes), sizes
    assert max(sizes) > said * 95 // 100, "the prompt says what a page holds"
    assert sum(size > 8_000 for size in sizes) > len(sizes) * 3 // 4
    steps = LLMLog.objects.values_list("input_tokens", flat=True)
    assert sum(steps) < 500_000


def test_a_line_of_a_megabyte(read: Read, http_session: Session) -> None:
    line = json.dumps([{"name": f"größe {number}", "values": [number] * 5} for number in range(16_000)])
    workspace_of(http_session).write_bytes("data.json", f"first\n{line}\nlast".encode())
    found = re.findall(r"^ *(\d+)\t(.*)$", "\n".join(read("file", action="read", path="data.json")), re.MULTILINE)
    assert [number for number, _ in found] == ["1", *["2"] * (len(found) - 2), "3"]
    assert "".join(part for number, part in found if number == "2") == line
    assert len(line.encode()) > 1_000_000


def test_the_output_of_a_command(read: Read, http_session: Session) -> None:
    workspace_of(http_session).write_bytes("long.txt", "\n".join(LINES[:5_000]).encode())
    first, *rest = read("shell", command="cat long.txt")
    head, _, behind = first.partition("\n[… lines ")
    tail = behind.partition("…]\n")[2].rpartition("\n[exit code 0")[0]
    between = re.findall(r"^ *\d+\t(.*)$", "\n".join(rest), re.MULTILINE)
    assert [*head.split("\n"), *between, *tail.split("\n")] == LINES[:5_000]


@pytest.fixture
def site() -> Iterator[pages.Site]:
    with pages.serving({"/long": "", "/report": ""}) as site:
        AllowedAddress.objects.create(address=site.host)
        yield site


def text_of(results: list[str]) -> str:
    return "".join(each.partition("\n")[2].rpartition("\n</web_page>")[0] for each in results)


def test_a_long_page(read: Read, site: pages.Site) -> None:
    site.pages["/long"] = "\n".join(LINES[:5_000])
    site.headers["/long"] = {"Content-Type": "text/plain; charset=utf-8"}
    assert text_of(read("fetch_url", url=site.url("/long"))) == site.pages["/long"]


@pytest.fixture(scope="module")
def report() -> bytes:
    return documents.pdf(*(f"Words of page {number} " + "and more " * 20 for number in range(1, 301)))


def test_a_pdf_of_300_pages(read: Read, http_session: Session, report: bytes) -> None:
    workspace_of(http_session).write_bytes("report.pdf", report)
    text = "\n".join(read("file", action="read", path="report.pdf"))
    assert re.findall(r"Words of page (\d+) ", text) == [str(number) for number in range(1, 301)]


def test_a_pdf_of_300_pages_on_the_web(read: Read, site: pages.Site, report: bytes) -> None:
    site.raw["/report"] = report
    text = text_of(read("fetch_url", url=site.url("/report")))
    assert re.findall(r"Words of page (\d+) ", text) == [str(number) for number in range(1, 301)]
    assert len(site.asked) == 1


def test_the_answer_of_an_mcp_server(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "MAX_SHOWN", 100)
    program = str(Path(mcp_servers.__file__).with_name("bare.py"))
    server = McpServer.objects.create(name="notes", transport="stdio", command=[sys.executable, program])
    assert mcp_refresh.refresh(server) == ""
    first, *rest = read("notes__many", count=5_000)
    shown = first.partition("\n[… lines ")[0].split("\n")
    shown += re.findall(r"^ *\d+\t(.*)$", "\n".join(rest), re.MULTILINE)
    assert shown == [f"note {number}" for number in range(5_000)]


def test_thousands_of_matches(read: Read, http_session: Session) -> None:
    workspace_of(http_session).write_bytes("long.txt", "\n".join(LINES[:1_500]).encode())
    found = "\n".join(read("match", action="grep", pattern="größe"))
    assert re.findall(r"^\d+:(.*)$", found, re.MULTILINE) == LINES[:1_500]
