"""Tests that readers of untrusted text in the server's process take linear time."""

from contextlib import suppress

import pytest

from llm_app.errors import LLMError
from llm_app.redaction.redactor import Redactor, StreamRedactor
from llm_app.text_calls.argument_stream import ArgumentStream
from llm_app.text_calls.streams import JSONReplyStream, ReplyStream, XMLReplyStream
from llm_app.text_calls.whole_reply import read_reply, read_reply_in_xml
from llm_app.transport.http_errors import error_for
from llm_app.transport.sse import SSEDecoder
from tasks_app.pages.markdown import markdown
from tasks_app.pages.markdown.parser import words
from tasks_app.pages.markdown.stream import StreamedMarkdown
from tasks_app.replay.readable import outline_lines
from tasks_app.text.retrieval import terms_of
from tests.growth.patterns import GrowthMeter
from tools_app.contract.clear_arguments import read_object
from tools_app.documents.document import tidy
from tools_app.editing.diff import unified
from tools_app.editing.patch_reading import parse_patch
from tools_app.editing.replacement import replace
from tools_app.errors import ToolError
from tools_app.hooks.termination_review import fault_code
from tools_app.json_schema.validation import loads
from tools_app.matching.patterns import ignore_rules
from tools_app.shell.danger import judgement
from tools_app.shell.secrets import as_variables
from tools_app.shell.syntax import parse_script
from tools_app.shell.terminal import TerminalStream, render_terminal
from tools_app.web.reader import decode_text
from tools_app.web.untrusted import enclose

LENGTH = 3_000  # characters; four times as many for slow uses
REDACTOR = Redactor([("KEY", "aaaa1111secret"), ("REPEATS", "abababababab")])
UNITS = [
    *(
        "a",
        " ",
        "\n",
        "\t",
        "\r",
        "0,",
        "é",
        "中",
        "\u0301",
        "a b ",
        "a, ",
        "a. ",
        "A: b\n",
        "aaaa1111",
        "ab",
        "\x1b[",
        "a\b",
        "a\r",
    ),
    *(
        "*",
        "_",
        "**a",
        "_a ",
        "*a **b",
        "中**a**",
        "`",
        "`a",
        "```\n",
        "~~~\n",
        "~~a",
        "[",
        "]",
        "[a](",
        "![",
        "[a][",
        "[^a]: b\n",
    ),
    *(
        "- a\n",
        " - a\n  ",
        "1. a\n",
        "> ",
        "# ",
        "|a",
        "| a\n|-|\n",
        "$",
        "$a",
        "$$a\n",
        "\\(",
        "\\[",
        "\\begin{align}",
        "---\n",
    ),
    *(
        "<",
        "< ",
        "<a ",
        "<div>",
        "</",
        "<!--",
        "&",
        "http://a.b ",
        "a@b.c ",
        "<web_page",
        "\n<user>",
        "</user>",
        "\n<step n='1'>",
    ),
    *(
        "{",
        "[[",
        '"',
        '\\"',
        "\\u",
        '{"name":',
        '{"text":"',
        "<tool_call>{",
        "<function_calls>\n",
        '<invoke name="a">',
        "<![CDATA[",
    ),
    *("<parameter ", "[TOOL_CALLS]", "data: a\n", "data:", "event: a\n", "\ndata: a\n\n"),
    *("$(", "${", "`$(", "<<a ", "<<a\n", "a;", "a|", "sudo ", 'eval "', "(a", "'$(", "\\\n", "rm -rf a;", "a() { "),
    *(
        "@@ -1 +1 @@\n",
        "--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n",
        "*** Update File: a\n",
        "**/",
        "*a",
        "[a-",
        "feel free to ",
    ),
]


def _in_pieces(feed, text, size=16):
    for start in range(0, len(text), size):
        list(feed(text[start : start + size]) or ())


def _stream_redactor(text):
    stream = StreamRedactor(REDACTOR)
    _in_pieces(stream.feed, text)
    stream.flush()


def _streamed_markdown(text):
    stream = StreamedMarkdown("")
    for start in range(0, len(text), 250):
        stream.add(text[start : start + 250])


def _events(text):
    decoder = SSEDecoder()
    _in_pieces(lambda piece: decoder.feed(piece.encode()), text)
    list(decoder.end())


ENTRY_POINTS = {
    "markdown": markdown,
    "streamed markdown": _streamed_markdown,
    "words of markdown": words,
    "redactor": REDACTOR.redact,
    "cut text redacted": REDACTOR.redacted_beginning,
    "stream redactor": _stream_redactor,
    "server-sent events": _events,
    "provider's error": lambda text: error_for(400, text),
    "words": lambda text: _in_pieces(ReplyStream().feed, text),
    "words with XML": lambda text: _in_pieces(XMLReplyStream().feed, text),
    "words with JSON": lambda text: _in_pieces(JSONReplyStream().feed, text),
    "reply": lambda text: read_reply(text, ["message"]),
    "reply in XML": lambda text: read_reply_in_xml(text, ["message"]),
    "arguments": lambda text: _in_pieces(ArgumentStream("text").feed, '{"text":"' + text),
    "JSON": loads,
    "arguments of other harnesses": lambda text: read_object(text, "shell"),
    "fenced arguments": lambda text: read_object(f"```json\n{text}", "shell"),
    "decoding": lambda text: decode_text(text.encode()),
    "web page": lambda text: enclose("https://a.org", text),
    "lines of a document": lambda text: list(tidy([text])),
    "script": parse_script,
    "danger of a script": judgement,
    "secrets of a script": lambda text: as_variables(f"echo [secret:A] {text}", {"[secret:A]": "x"}),
    "terminal": render_terminal,
    "running terminal": lambda text: _in_pieces(TerminalStream().feed, text, 50),
    "difference": lambda text: unified(text, text[::-1], "a.txt"),
    "edit": lambda text: replace(text.encode(), text[:7], "b", everywhere=True, limit=10**7),
    "edit that fits nowhere": lambda text: replace(text.encode(), "x\ny", "b", everywhere=False, limit=10**7),
    "patch": parse_patch,
    "outline": lambda text: list(outline_lines(text)),
    "terms": terms_of,
    "review": lambda text: fault_code(text, [], []),
    "ignore file": lambda text: ignore_rules(text, ""),
}


@pytest.mark.parametrize("name", ENTRY_POINTS)
def test_time_grows_with_the_text(name):
    def read(text):
        with suppress(ToolError, LLMError, ValueError, RecursionError):
            ENTRY_POINTS[name](text)

    meter = GrowthMeter(LENGTH)
    slow = [unit for unit in UNITS if meter.is_exceeded(read, lambda length, unit=unit: unit * (length // len(unit)))]
    assert not slow


def test_stream_redactor_equals_redactor_for_a_long_secret():
    text = "x" + "ab" * 10_000 + "y" + "ab" * 3 + "z"
    stream = StreamRedactor(REDACTOR)
    shown = "".join(stream.feed(text[start : start + 100]) for start in range(0, len(text), 100)) + stream.flush()
    assert shown == REDACTOR.redacted(text)
