"""Tests of workbooks and tables on the page of a file: all columns, as the cells show them, merged as in the file."""

import re
from html import unescape

import pytest

from tasks_app.workspace.folders import workspace_of
from tests.tools_app import workbooks
from tests.tools_app.documents import opendocument
from tests.tools_app.workbooks import cells, styles, xlsx

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def view(alices, session):
    def show(path, data, query=""):
        workspace_of(session).write_bytes(path, data)
        return alices.page(f"{session.get_absolute_url()}view/{path}{query}")

    return show


def rows_of(page):
    """Return the rows of the table: a text for each cell, with its spans if it is merged."""
    table = page[page.index("<table") : page.index("</table>")]
    rows = []
    for row in re.findall(r"<tr.*?</tr>", table, re.DOTALL):
        found = re.findall(r"<t[hd]([^>]*)>(.*?)</t[hd]>", row, re.DOTALL)
        texts = []
        for attributes, content in found:
            spans = re.findall(r'(col|row)span="(\d+)"', attributes)
            text = " ".join(unescape(re.sub("<[^>]*>", " ", content)).split())
            texts.append(" ".join([text, *(f"{kind}{count}" for kind, count in spans)]))
        rows.append(texts)
    return rows


BUDGET = xlsx(
    {
        "Budget": '<cols><col min="3" max="3" hidden="1"/></cols>'
        + cells({"A1": "Budget 2026", "A3": "Region", "B3": "Share", "C3": "Cost", "D3": "|", "A4": "North", "B4": (0.1234, 1), "C4": (1234.5, 2)})
        + '<mergeCells><mergeCell ref="A1:D1"/><mergeCell ref="A4:A6"/></mergeCells>'
        '<headerFooter><oddFooter>Draft</oddFooter></headerFooter>',
        "Pay & more": cells({"B5": "<f>1+1</f><v>2</v>"}),
    },
    states={"Pay & more": "hidden"},
    parts={"xl/styles.xml": styles("0.00%", "#,##0.00 [$€-407]")},
)  # fmt: skip


def test_a_sheet_is_a_table_as_wide_as_its_widest_row(view):
    page = view("a.xlsx", BUDGET)
    assert rows_of(page) == [
        ["", "A", "B", "C hidden", "D"],
        ["1", "Budget 2026 col4"],
        ["3", "Region", "Share", "Cost", "|"],
        ["4", "North", "12.34%", "1,234.50 €", ""],
    ]
    assert "Footer: Draft" in page
    assert "4 rows" in page
    assert 'style="' not in page[page.index("<table") : page.index("</table>")]


def test_each_sheet_has_a_tab(view):
    page = view("a.xlsx", BUDGET, "?page=2")
    tabs = page[page.index('class="sheet-tabs"') : page.index("<table")]
    assert re.findall(r'href="\?page=(\d)"', tabs) == ["1", "2"]
    assert re.search(r'aria-current="page"\s*dir="auto">Pay &amp; more<small>hidden</small>', tabs)
    assert rows_of(page) == [["", "A", "B"], ["5", "", "2"]]


def test_all_rows_of_a_long_sheet_can_be_reached(view):
    data = xlsx({"S": cells({f"A{number}": f"row {number}" for number in range(1, 1202)})})
    seen, query = [], ""
    while True:
        page = view("a.xlsx", data, query)
        seen += [int(number) for number in re.findall(r"row (\d+)</td>", page)]
        link = re.search(r'rel="next" href="\?page=1&amp;row=(\d+)"', page)
        if not link:
            break
        query = f"?page=1&row={link[1]}"
    assert seen == list(range(1, 1202))
    assert "1,201 rows" in page
    assert 'rel="prev"' in page


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        ("Ort;Umsatz\nKöln;1.234,50\n".encode("latin-1"), [["Ort", "Umsatz"], ["Köln", "1.234,50"]]),
        ("Ort;Umsatz\nKöln;1.234,50 €\n".encode("cp1252"), [["Ort", "Umsatz"], ["Köln", "1.234,50 €"]]),
        ("a\tb\n1,5\t2,5\n".encode("utf-16"), [["a", "b"], ["1,5", "2,5"]]),
        (b"1,5;2,5\n3,5;4,5\n", [["1,5", "2,5"], ["3,5", "4,5"]]),
        (b'name,text\nAnn,"one, two"\nBob,"three\nfour"\n', [["name", "text"], ["Ann", "one, two"], ["Bob", "three four"]]),
        (b"a|b|c\n1|2|3\n", [["a", "b", "c"], ["1", "2", "3"]]),
        (b"sep=;\na;b\n", [["a", "b"]]),
        (b"title\n\na,b,c\n1,2,3\n4,5,6\n", [["title", "", ""], ["", "", ""], ["a", "b", "c"], ["1", "2", "3"], ["4", "5", "6"]]),
        (b"only\none\n", [["only"], ["one"]]),
        ("\ufeffx;y\n<b>;\"a;b\"\n".encode(), [["x", "y"], ["<b>", "a;b"]]),
        (b"a;b\n1;x, y\n2;z\n3;u, v, w\n", [["a", "b"], ["1", "x, y"], ["2", "z"], ["3", "u, v, w"]]),
    ],
)  # fmt: skip
def test_text_with_delimiters_is_a_table(view, data, rows):
    shown = rows_of(view("a.csv", data))
    assert [row[1:] for row in shown[1:]] == rows


def test_an_opendocument_sheet_is_as_wide_as_its_widest_row(view):
    cell = "<table:table-cell><text:p>{}</text:p></table:table-cell>"
    rows = f"<table:table-row>{cell.format('Title')}</table:table-row><table:table-row>{cell.format('a')}{cell.format('b')}</table:table-row>"
    data = opendocument("spreadsheet", f'<table:table table:name="S">{rows}</table:table>')
    assert rows_of(view("a.ods", data)) == [["", "A", "B"], ["1", "Title", ""], ["2", "a", "b"]]


def test_a_binary_workbook_and_an_old_one(view):
    assert "shared words" in view("a.xlsb", workbooks.xlsb([["shared"]]))
