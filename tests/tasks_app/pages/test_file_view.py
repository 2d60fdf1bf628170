"""The page of a workspace file: nothing in it runs, and only users of the session see it."""

import html
import re
from io import BytesIO

import pytest
from docx import Document
from PIL import Image

from tasks_app.workspace.folders import workspace_of
from tests.tools_app.documents import pdf
from tests.tools_app.office import CASES
from tests.tools_app.texts import MAILS, UNDECLARED


@pytest.fixture
def view(alices, session):
    def show(path, data, query=""):
        workspace_of(session).write_bytes(path, data)
        return alices.page(f"{session.get_absolute_url()}view/{path}{query}")

    return show


@pytest.mark.django_db(transaction=True)
def test_each_kind_of_file_is_shown(view, session, alices):
    Image.new("RGB", (3, 3)).save(png := BytesIO(), "PNG")
    assert f'<img src="{session.get_absolute_url()}files/a.png"' in view("a.png", png.getvalue())
    assert "<h1" in view("notes.md", b"# Title\n<script>alert(1)</script>")
    code = view("a.py", b'print("```")  # <b>')
    assert "&lt;b&gt;" in code
    assert 'class="k' in code or "<span" in code
    assert f'sandbox src="{session.get_absolute_url()}preview/a.html"' in view("a.html", b"<script>alert(1)</script>")
    (word := Document()).add_paragraph("Quarterly <b>figures</b>")
    word.add_table(rows=2, cols=2)
    word.save(docx := BytesIO())
    assert "Quarterly &lt;b&gt;figures&lt;/b&gt;" in (shown := view("report.docx", docx.getvalue()))
    assert "<table" in shown
    report = view("a.pdf", pdf("One", "Two"), "?page=2")
    assert "Two" in report
    assert "2 / 2" in report
    picture = alices.get(f"{session.get_absolute_url()}page/2/a.pdf")
    assert picture.content.startswith(b"\x89PNG")
    assert "cannot be shown here" in view("a.bin", b"\x00\xff")


@pytest.mark.django_db(transaction=True)
def test_a_slide_says_that_it_is_hidden_and_a_long_page_that_it_is_cut(view):
    hidden = next(case.data for case in CASES if case.name == "a hidden slide")
    assert '<span class="badge">hidden</span>' in view("deck.pptx", hidden)
    (long := Document()).add_paragraph("word " * 60_000)
    long.save(docx := BytesIO())
    page = view("long.docx", docx.getvalue())
    assert "Only the beginning is shown" in page
    assert '<span class="badge">hidden</span>' not in page


def test_other_users_get_404(view, session, browser, charlie):
    view("notes.md", b"Mine.")
    assert browser(charlie).get(f"{session.get_absolute_url()}view/notes.md").status_code == 404
    assert browser(charlie).get(f"{session.get_absolute_url()}page/1/notes.md").status_code == 404


def test_words_in_all_encodings_are_shown(view, alices, session):
    for name, (codec, text) in UNDECLARED.items():
        page = html.unescape(re.sub(r"<[^>]+>", "", view("a.txt", text.encode(codec))))
        assert all(line in page for line in text.splitlines()), name
    assert "KOI8-R" in view("a.txt", "Договор аренды".encode("koi8_r"))
    view("a.html", b"<meta charset=windows-1251>" + "Договор".encode("cp1251"))
    preview = alices.get(f"{session.get_absolute_url()}preview/a.html")
    assert preview["Content-Type"] == "text/html; charset=windows-1251"


@pytest.mark.django_db(transaction=True)
def test_words_of_mails_are_shown(view):
    for name in (
        "unknown-8bit, KOI8",
        "winmail.dat",
        "nested message",
        "attached text in cp1252",
        "gb2312 in a header",
    ):
        mail, words = MAILS[name]
        pages = "".join(view("a.eml", mail, f"?page={number}") for number in (1, 2, 3))
        pages = html.unescape(re.sub(r"<[^>]+>", "", pages))
        assert all(word.removeprefix("Subject: ") in pages for word in words if word not in ("winmail.dat",)), name
