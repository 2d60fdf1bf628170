"""Tests that the page of a document shows each word of its reading, with changes, links and tables as elements."""

import html
import re

import pytest

from tasks_app.pages.document_view import document_html
from tests.tools_app.office import CASES
from tests.tools_app.office.files import Case
from tests.tools_app.test_office_words import reading


def seen(page: str) -> str:
    """Return the text of the page without white space, because an element can begin in a word."""
    return re.sub(r"\s", "", html.unescape(re.sub("<[^>]*>", "", page)))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_word_is_on_the_page(case: Case) -> None:
    text = seen(document_html(reading(case.data)))
    assert [word for word in case.words if word not in text] == [], text


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("EUR [-30-]{+45+} net", "EUR <del>30</del><ins>45</ins> net"),
        ("was ~~9~~ 8", "was <s>9</s> 8"),
        ("[our [-old-] terms](https://example.org/a)", 'our <del>old</del> terms</a> <span class="target">https://'),
        ("[a](javascript:alert(1))", "[a](javascript:alert(1))"),
        ("a [-5, 3] and {+ and [x] ~~", "a [-5, 3] and {+ and [x] ~~"),
        ("{+a [-b+} c-]", "<ins>a [-b</ins> c-]"),
        ("<script>alert('x')</script>", "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;"),
        ("*a* _b_ [c]: d # e", "*a* _b_ [c]: d # e"),
        ("[hidden: cost 7]", '<span class="hidden-text">[hidden: cost 7]</span>'),
    ],
)
def test_marks_become_elements_and_all_else_is_text(line: str, expected: str) -> None:
    assert expected in document_html(line)


def test_headings_points_and_notes() -> None:
    page = document_html("## Fees\n\n  - inner\nNotes: say\nmore\nComment by Ada: why?")
    assert '<h4 dir="auto">Fees</h4>' in page
    assert '<p class="point in-1" dir="auto">inner</p>' in page
    assert "<p>say</p><p>more</p></aside>" in page
    assert '<p class="fact" dir="auto">Comment by Ada: why?</p>' in page


def test_merged_cells_span_rows_and_columns() -> None:
    page = document_html("| Costs | ← | Sum |\n| Berlin | 10 | 30 |\n| ↑ | 20 | 40 |")
    assert '<th class="short" colspan="2" rowspan="1" dir="auto">Costs</th>' in page
    assert '<td class="short" colspan="1" rowspan="2" dir="auto">Berlin</td>' in page
    assert "↑" not in page


def test_a_change_that_the_reader_wrapped_is_one_element() -> None:
    page = document_html("start {+" + "word " * 150 + "\nnext words+} end")
    assert page.count("<ins>") == page.count("</ins>") == 1
