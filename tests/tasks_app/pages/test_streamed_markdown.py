"""Streaming Markdown: finished blocks are not rendered again, and the result equals that of the complete text."""

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.pages.markdown import PLAIN, last_paragraph, markdown, stream
from tasks_app.pages.markdown.stream import MarkdownChange, StreamedMarkdown

FILES = "/s/1/files/"
PIECES = {
    "paragraphs": "Some words that say **something** and a bit more.\n\n" * 200,
    "a list": "- an item with `code` in it\n" * 400,
    "a table": "| a | b |\n|---|---|\n" + "| one | two |\n" * 600,
    "code": "```py\n" + "print('hello', 1)\n" * 600 + "```\n",
    "one paragraph": "words " * 2000,
    "code in a list": "- x\n\n  ```py\n" + "  print('hello', 1)\n" * 600 + "  ```\n",
}
TEXT = """# A title

Some *words*, a [link](a.md) and `code`.

- one
- two
  1. deeper

     more of it
- [x] done

| a | b |
|---|---|
| 1 | 2 |

```py
def f():
    return "```"

~~~
```

$$
\\begin{aligned}
a &= b
\\end{aligned}
$$

A heading
---------

> a quotation
> goes on

1. first

2. second

これは**「重要」**です。这是**我想做的事。**所以继续。

**마크다운(Markdown)**을 사용하세요. ~~「重要」~~です

~~~
plain
~~~
שלום

The end, with $x^2$.
"""


class Streamed(StreamedMarkdown):
    """Streaming Markdown that is rendered immediately."""

    def add(self, text: str) -> MarkdownChange:
        change = super().add(text)
        return self.render() if change is None else change


def streamed(text: str, seed: int, most: int) -> Streamed:
    random.seed(seed)
    shown, start = Streamed(FILES), 0
    while start < len(text):
        end = start + random.randint(1, most)
        shown.add(text[start:end])
        start = end
    return shown


def bare(html: str) -> str:
    """Return the HTML without ids that depend on the entire text, and with sorted attributes."""
    html = re.sub(r"(fn|fnref|code)-[0-9a-f]{8}-\d+|\n", "", html)
    return re.sub(r"<(\w+)((?: [\w-]+=\"[^\"]*\")+)>", lambda tag: tag[1] + "".join(sorted(tag[2].split())), html)


def everything(shown: Streamed) -> str:
    whole = shown.whole
    return whole.closed + (whole.open or "") + whole.tail


@pytest.mark.parametrize("most", [1, 4, 30, 200])
@pytest.mark.parametrize("seed", range(5))
def test_result_equals_the_complete_text(seed, most):
    assert bare(everything(streamed(TEXT, seed, most))) == bare(markdown(TEXT, FILES))


@pytest.mark.parametrize("kind", PIECES)
def test_cost_is_linear(kind, monkeypatch):
    rendered = []
    monkeypatch.setattr(stream, "markdown", lambda text, *_, **__: rendered.append(len(text)) or "")
    costs = []
    for text in (PIECES[kind][: len(PIECES[kind]) // 2], PIECES[kind]):
        rendered.clear()
        shown = Streamed(FILES)
        for start in range(0, len(text), 12):
            shown.add(text[start : start + 12])
        costs.append(sum(rendered))
    assert costs[1] < 3 * costs[0] + 20_000
    assert costs[1] < 40 * len(PIECES[kind])


def test_only_the_open_block_is_rendered_again():
    shown = Streamed()
    shown.add("First.\n\nSecond")
    change = shown.add(" *goes* on.")
    assert change.closed == ""
    assert change.open == '<p dir="auto">Second <em>goes</em> on.</p>\n'
    assert shown.add("\n\nThird").closed == '<p dir="auto">Second <em>goes</em> on.</p>\n'


@pytest.mark.parametrize("text", ["Words and ", "- one\n- two ", "> said", "## A title", "Some `code` and "])
def test_plain_words_are_appended_to_the_open_block(text):
    shown = Streamed()
    shown.add(text)
    more = "more words, at 3.5: a-b = “c” – и слова"
    change = shown.add(more)
    assert (change.open, change.tail) == (None, more)
    closing = re.search(r"(</\w+>\s*)+$", shown.whole.open)
    assert shown.whole.open[: closing.start()] + shown.whole.tail + closing[0] == markdown(text + more)


@pytest.mark.parametrize(
    ("text", "more"),
    [
        *(("*so*", "on"), ("https://a.exa", "mple"), ("line\n", "another"), ("| a |\n|---|\n| b", "c")),
        *(("&amp", ";"), ("**a", "** b"), ("[a](b", ")"), ("`a", "` b")),
    ],
)
def test_ambiguous_text_is_rendered_again(text, more):
    shown = Streamed()
    shown.add(text)
    assert shown.add(more).open == markdown(text + more)


def test_blocks_are_not_parsed_within_a_line(monkeypatch):
    shown = Streamed()
    shown.add("- *one*\n- *tw")
    monkeypatch.setattr(stream, "_last_block", None)
    assert shown.add("o*").open == markdown("- *one*\n- *two*")


def test_plain_paragraphs_need_no_parser():
    shown, text = StreamedMarkdown(FILES), 'Some words: two, at 12:30.\nA line (of them)\n\nThe "end" – a@b.de\n\n'
    changes = [shown.add(piece) for piece in re.findall(r"\S*\s*", text)]
    assert None not in changes
    assert everything(shown) == markdown(text, FILES)
    assert shown.add("*so*") is None


@given(st.from_regex(PLAIN, fullmatch=True))
def test_last_plain_paragraph_agrees_with_the_parser(text):
    assert (last_paragraph(text), "") == stream._last_block(text)


def test_code_is_highlighted_when_its_fence_closes():
    shown = Streamed()
    assert "<span" not in str(shown.add("```py\nif 1:\n").open)
    assert shown.add("    pass\n").tail == "    pass\n"
    assert '<span class="k">pass</span>' in str(shown.add("```\n").open)


def test_undecided_sign_is_held_back():
    shown = Streamed()
    shown.add("A paragraph\n")
    assert not shown.add("-")
    assert "<h2" not in everything(shown)
    assert "<li>item</li>" in str(shown.add(" item").open)


def test_first_characters_are_shown_immediately():
    assert Streamed().add("H").open == '<p dir="auto">H</p>\n'


def test_partial_text_is_harmless():
    text = (
        "<img src=x onerror=alert(1)>\n\n[x](javascript:alert(1)) $\\text{<script>}$ ![x](https://evil.example/x.png)"
    )
    shown = Streamed(FILES)
    for sign in text:
        change = shown.add(sign)
        html = change.closed + (change.open or "")
        assert not re.search(r"<(img|script)|javascript:[^<]*\"", html)


@pytest.mark.parametrize(
    "text", ["```\n\ra", "a\r\nb\r\n\r\nc\r\n", "- a\r- b\r\r1. c", "```py\r\nx = 1\r\n```\r\nafter\r\n"]
)
def test_all_line_endings_are_accepted(text):
    for seed in range(20):
        drawn, streamed, rest = random.Random(seed), StreamedMarkdown(FILES), text
        while rest:
            size = drawn.randint(1, 3)
            if streamed.add(rest[:size]) is None:
                streamed.render()
            rest = rest[size:]
        streamed.render()
        shown = streamed.whole
        assert re.sub(r"<[^>]+>|\s", "", shown.closed + shown.open) == re.sub(r"<[^>]+>|\s", "", markdown(text, FILES))
