"""The lists of sessions: sidebar, search, pins, tags and archive."""

import html
import json
import re
import unicodedata
from datetime import timedelta

import pytest
from django.utils import timezone

from llm_app.types import ToolCall
from tasks_app.models import Filing, Session, SessionSearch, file_session, format_tags
from tasks_app.worker import search_index
from tests import factories


@pytest.fixture
def titled(alice):
    def make(title, owner=alice, days=0, **fields):
        session = factories.SessionFactory(owner=owner, title=title, **fields)
        Session.objects.filter(pk=session.pk).update(updated_at=timezone.now() - timedelta(days=days))
        return session

    return make


def found(browser, query=""):
    groups = browser.get("/sessions/", {"q": query}).context["groups"]
    return [session.title for group in groups for session in group.sessions]


@pytest.mark.parametrize("page", ["/", "/sessions/", "/inbox/", "/memory/", "/usage/", "/settings/"])
def test_each_page_has_the_sidebar(page, alices, titled):
    session = titled("The trip to Lisbon")
    assert f'<a href="/s/{session.pk}/"><span class="title" dir="auto">The trip to Lisbon' in alices.page(page)


def test_sidebar_has_the_open_session_even_if_old(alices, titled):
    old = titled("Long ago", days=400)
    file_session(old, old.owner, is_archived=True)
    page = alices.page(f"/s/{old.pk}/")
    assert f'<a href="/s/{old.pk}/" aria-current="page"><span class="title" dir="auto">Long ago' in page


def test_sessions_are_grouped_by_last_change(alices, titled):
    for title, days in (("a", 0), ("b", 1), ("c", 4), ("d", 20), ("e", 400)):
        titled(title, days=days)
    file_session(titled("f", days=90), Session.objects.get(title="f").owner, is_pinned=True)
    names = [group.name for group in alices.get("/sessions/").context["groups"]]
    assert names[:5] == ["Pinned", "Today", "Yesterday", "Last 7 days", "Last 30 days"]


def test_days_use_the_browsers_time_zone(alices, titled):
    session = titled("One")
    late = timezone.now().replace(hour=23, minute=30) - timedelta(days=40)
    Session.objects.filter(pk=session.pk).update(updated_at=late)
    stamps = []
    for zone in ("Pacific/Kiritimati", "UTC", "no/such/zone", "../etc"):
        alices.cookies["timezone"] = zone
        stamps.append(f"{late + timedelta(hours=14):%Y-%m-%dT}" in alices.page("/sessions/"))
    assert stamps == [True, False, False, False]


@pytest.mark.parametrize(
    ("query", "titles"),
    [
        ("DOGS", ["Cats and dogs"]),
        ("zebra", ["Alice's"]),
        ("unicorn", []),
        ("%", []),
        ("tag:Work", ["Cats and dogs"]),
        ("tag:work tag:none", []),
        ("tag:wo", []),
        ("dogs tag:work is:pinned", []),
        ("model:FAST", ["The report"]),
        ("before:2020-01-01", []),
        ("after:2020-01-01 report", ["The report"]),
        ('"and dogs"', ["Cats and dogs"]),
        ('"and do', ["Cats and dogs"]),
    ],
)
def test_search_accepts_words_and_operators(query, titles, alices, alice, titled, recorded, session):
    Session.objects.filter(pk=session.pk).update(title="Alice's")
    recorded("user_message", "about zebras")
    file_session(titled("Cats and dogs"), alice, tags=format_tags(["Work, #animals"]))
    titled("The report", model=factories.LogicalModelFactory(name="fast"))
    assert found(alices, query) == titles


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("before:2026-13-45", "before:2026-13-45 is not a day. Write it as before:2027-01-31."),
        ("cats after:soon", "after:soon is not a day. Write it as after:2027-01-31."),
        ("before:2026-02-30", "before:2026-02-30 is not a day. Write it as before:2027-01-31."),
        ("is:nonsense", "is:nonsense: it can be is:pinned or is:archived."),
    ],
)
def test_invalid_operator_value_is_reported(query, sentence, alices, titled):
    titled("cats")
    for address in ("/sessions/", "/sessions/?find"):
        page = alices.get(address, {"q": query, "find": ""}, headers={"HX-Request": "true"}).content.decode()
        assert sentence in page
    assert sentence in alices.get("/sessions/", {"q": query}).content.decode()
    assert found(alices, query) == []


@pytest.mark.parametrize("is_taken_up", [False, True])
@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("naïve", "A <mark>naïve</mark> &lt;answer&gt; of zebras"),
        ("ZEBRA naïve", "A <mark>naïve</mark> &lt;answer&gt; of <mark>zebra</mark>s"),
        ("zebras", "A naïve &lt;answer&gt; of <mark>zebra</mark>s"),
        ("__init__", "Look at <mark>__init__</mark> and *.py"),
        ("デスク", "<mark>ﾃﾞｽｸ</mark>"),
        ("needle", "…" + "x " * 20 + "<mark>needle</mark>" + " y" * 57 + "…"),
    ],
)
def test_matching_line_is_shown(words, line, is_taken_up, alices, recorded, session):
    long = "x " * 200 + "needle" + " y" * 200
    said = f"# Title\n\nA **naïve** <answer> of zebras\n\nLook at __init__ and *.py\nﾃﾞｽｸ\n{long}"
    arguments = json.dumps({"type": "result", "text": said}, ensure_ascii=False)
    recorded("ai_message", "", tool_call=ToolCall(id="c", name="message", arguments=arguments))
    if is_taken_up:
        Session.objects.update(updated_at=timezone.now() - timedelta(hours=1))
        search_index.index_new_entries()
    page = alices.get("/sessions/", {"q": words}).content.decode()
    shown = re.search(r'<span class="about"[^>]*>(.*?)</span></span>', page)[1]
    assert unicodedata.normalize("NFC", shown.removeprefix("<span>")) == unicodedata.normalize("NFC", line)


@pytest.mark.parametrize("text", ["tag:", "is:", "before:", "http://x.org", ":", "a:b"])
def test_unknown_operator_is_a_word(text):
    assert SessionSearch.parse(text).words == text


@pytest.mark.parametrize("zone", ["America/New_York", "Pacific/Kiritimati"])
@pytest.mark.parametrize("query", ["after:0001-01-01", "before:9999-12-31", "after:9999-12-31"])
def test_extreme_dates_are_not_errors(query, zone, alices):
    alices.cookies["timezone"] = zone
    assert alices.get("/sessions/", {"q": query}).status_code == 200


def test_search_excludes_other_users(alices, charlie, titled):
    titled("Charlie's cats", charlie)
    assert found(alices, "cats") == []


def test_tags_pins_and_archive_are_personal(alices, session, bob, browser, alice):
    Session.objects.filter(pk=session.pk).update(title="Shared")
    bobs = browser(bob)
    bobs.htmx(f"/s/{session.pk}/file/", {"verb": "archive"})
    bobs.post(f"/s/{session.pk}/manage/", {"tags": "his", "title": "Not his to name"})
    assert (found(bobs), found(alices)) == ([], ["Shared"])
    assert (found(bobs, "tag:his"), found(alices, "tag:his")) == (["Shared"], [])


@pytest.mark.parametrize("words", ["ärger", "ÄRGER", "büro ÄR"])
def test_title_search_ignores_case_beyond_ascii(alices, titled, words):
    titled("Ärger im Büro")
    assert found(alices, words) == ["Ärger im Büro"]
    assert "Ärger im Büro" in alices.get("/sessions/", {"q": words}, headers={"HX-Request": "true"}).content.decode()


def test_archiving_can_be_undone_from_the_toast(alices, titled):
    session = titled("One")
    said = alices.htmx(f"/s/{session.pk}/file/", {"verb": "archive"})
    assert "Undo" in said.content.decode()
    assert "sessions-changed" in said["HX-Trigger"]
    assert found(alices) == []
    alices.htmx(f"/s/{session.pk}/file/", {"verb": "unarchive"})
    assert found(alices) == ["One"]


def test_single_label_has_no_separator(alices, titled):
    session = titled("One")
    file_session(session, session.owner, is_archived=True)
    assert "<span>Archived</span></span>" in alices.page("/sessions/?q=is:archived")


def test_title_and_tags_are_changed_in_one_form(alices, titled):
    session = titled("One")
    alices.post(f"/s/{session.pk}/manage/", {"title": " Two  three ", "tags": "#Work, work <b>"})
    session.refresh_from_db()
    assert (session.title, Filing.objects.get().tags) == ("Two three", " work <b> ")
    assert "&lt;b&gt;" in alices.page("/sessions/")


def test_sheet_is_a_page_without_scripts(alices, titled):
    session = titled("One")
    assert "<main" in alices.page(f"/s/{session.pk}/manage/")
    fragment = alices.get(f"/s/{session.pk}/manage/", headers={"HX-Request": "true"}).content.decode()
    assert "<main" not in fragment
    assert "Tags" in fragment


def test_suggestions_do_not_replace_the_list(alices, titled):
    titled("Cats")
    htmx = {"HX-Request": "true"}
    assert "Cats" in alices.get("/sessions/", {"find": "", "q": "cat"}, headers=htmx).content.decode()
    assert alices.get("/sessions/", {"find": "", "q": " "}, headers=htmx).content.decode().strip() == ""


def test_older_sessions_are_on_further_pages(alices, titled):
    for number in range(45):
        titled(f"Number {number}", days=number)
    assert len(found(alices)) == 40
    second = alices.get("/sessions/?page=2").context["groups"]
    assert [session.title for group in second for session in group.sessions] == [f"Number {n}" for n in range(40, 45)]


def test_title_is_escaped(alices, titled):
    title = "<script>alert(1)</script>"
    titled(title)
    page = alices.page("/sessions/")
    assert title not in page
    assert html.escape(title) in page


@pytest.mark.parametrize("path", ["manage/", "file/"])
def test_unshared_session_is_404(path, session, browser, charlie, bob):
    assert browser(charlie).post(f"/s/{session.pk}/{path}", {"verb": "pin"}).status_code == 404
    assert browser(charlie).get(f"/s/{session.pk}/{path}").status_code in (404, 405)
    assert browser(bob).post(f"/s/{session.pk}/{path}", {"verb": "pin"}).status_code == 302
