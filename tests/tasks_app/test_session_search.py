"""Search of sessions by their messages, whether they are indexed yet or not."""

import json
from datetime import timedelta
from importlib import import_module

import pytest
from django.apps import apps
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection, transaction
from django.utils import timezone

from llm_app.models import Secret
from llm_app.types import ToolCall
from tasks_app.models import ContextEntry, ContextType, MemoryNote, Session, SessionText, ToolCallLog
from tasks_app.record import Draft, redactor_of
from tasks_app.services import forks, sessions
from tasks_app.text import full_text
from tasks_app.text.call_text import text_of_call
from tasks_app.worker import search_index
from tasks_app.workspace import file_history, uploads
from tasks_app.workspace.folders import workspace_of
from tests import factories

KEY = "quietmagpie77"


@pytest.fixture
def task(session):
    return factories.TaskFactory(session=session)


@pytest.fixture
def say(task):
    return lambda *texts: factories.append(
        task, *(Draft(context_type=ContextType.USER_MESSAGE, content=text) for text in texts)
    )


@pytest.fixture
def speak(task):
    def spoken(arguments):
        call = ToolCall(
            id=f"call_{len(str(arguments))}", name="message", arguments=json.dumps(arguments, ensure_ascii=False)
        )
        factories.append(task, Draft(context_type=ContextType.AI_MESSAGE, tool_call=call))

    return spoken


def grown_quiet():
    Session.objects.update(updated_at=timezone.now() - timedelta(hours=1))


def take_up_all():
    grown_quiet()
    while search_index.index_new_entries():
        pass
    assert not Session.objects.behind().exists()


def is_found(words, user=None):
    found = Session.objects.matching(words)
    return (found.visible_to(user) if user else found).exists()


@pytest.mark.parametrize("is_taken_up", [False, True])
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        *(("giraffe", True), ("GIRAFFE", True), ("gir", True), ("iraffe", None), ("zebra", False)),
        *(("giraffe river", True), ("river giraffe", True), ("rivers gir", True), ("giraffe zebra", False)),
        *(("snake_case", True), ("北京大学", True), ("北", True), ("学", True), ("东京", False), ("C++", True)),
        *(("ärger", True), ("ÄRGER", True), ("straße", True)),
        *(("holiday giraffe", True), ("!?", False), ("giraffe !?", False)),
    ],
)
def test_word_matching(words, expected, is_taken_up, session, say):
    Session.objects.filter(pk=session.pk).update(title="My holidays, Ärger")
    say("Three giraffes stood", "by the rivers. A snake_case name, in C++.", "我在北京大学。", "Eine Straße.")
    if is_taken_up:
        take_up_all()
    found = is_found(words)
    assert found is expected or (expected is None and found is not is_taken_up)  # only the index knows words


SPELLINGS = [
    ("Привет МИР ёлка", "привет"),
    ("Привет МИР ёлка", "мир"),
    ("Привет МИР ёлка", "ЁЛКА"),
    ("Die Größe der Übersicht", "übersicht"),
    ("Die Größe der Übersicht", "GRÖSSE"),
    ("Cafe\u0301 Re\u0301sume\u0301", "café"),
    ("Café Résumé", "re\u0301sume\u0301"),
    ("ﾃｽﾄ", "テスト"),
    ("ﾃﾞｽｸ", "デスク"),
    ("３３３メートル", "333"),
    ("333", "３３３"),
    ("한글", "\u1112\u1161\u11ab\u1100\u1173\u11af"),
    ("İstanbul'dan DİYARBAKIR'a", "istanbul"),
    ("İstanbul'dan DİYARBAKIR'a", "diyarbakır"),
    ("ısparta", "ISPARTA"),
    ("istanbul", "İSTANBUL"),
    ("ﻣﺤﻤﺪ", "محمد"),
    ("مُحَمَّد", "محمد"),
    ("שָׁלוֹם", "שלום"),
    ("soft\u00adhyphen and zero\u200bwidth", "softhyphen"),
    ("soft\u00adhyphen and zero\u200bwidth", "zerowidth"),
    ("ﬁnal ΟΔΥΣΣΕΥΣ", "final οδυσσευς"),
]


@pytest.mark.parametrize("is_taken_up", [False, True])
@pytest.mark.parametrize("place", ["title", "message", "answer", "question", "option", "suggestion", "attachment"])
@pytest.mark.parametrize(("text", "words"), SPELLINGS)
def test_spelling_variants_match(text, words, place, is_taken_up, session, say, speak):
    """Search reads people's messages, and the agent's messages in the arguments of its calls."""
    Session.objects.filter(pk=session.pk).update(title=text if place == "title" else "x")
    match place:
        case "message":
            say(text)
        case "answer":
            speak({"type": "result", "text": f"It is:\n{text}"})
        case "question":
            speak({"type": "ask", "text": text})
        case "option":
            speak({"type": "ask", "text": "x", "options": [text]})
        case "suggestion":
            speak({"type": "result", "text": "x", "suggestions": [text]})
        case "attachment":
            speak({"type": "info", "text": "x", "attachments": [f"out/{text}.txt"]})
    if is_taken_up:
        take_up_all()
    assert is_found(words)
    assert not is_found("zebra")


@pytest.mark.parametrize("is_taken_up", [False, True])
def test_argument_names_do_not_match(session, speak, is_taken_up):
    speak({"type": "result", "text": "giraffe", "attachments": ["river.txt"]})
    if is_taken_up:
        take_up_all()
    assert is_found("giraffe river.txt")
    assert [is_found(word) for word in ("arguments", "attachments", "options")] == [False] * 3


def test_unsent_messages_do_not_match(session, task, speak):
    speak({"type": "result", "text": "giraffe"})
    call = ContextEntry.objects.get(session=session).call["id"]
    ToolCallLog.objects.create(
        task=task, session_id=session.pk, call_id=call, name="message", fingerprint="x", status="blocked"
    )
    take_up_all()
    assert not is_found("giraffe")


@pytest.mark.parametrize("is_taken_up", [False, True])
@pytest.mark.parametrize("has_entries", [False, True])
def test_uploaded_file_name_matches(session, say, is_taken_up, has_entries):
    if has_entries:
        say(*(f"word{number}" for number in range(search_index.ENTRIES_PER_ROW)))
        take_up_all()
    uploads.store(session, [SimpleUploadedFile("U\u0308bersicht.txt", b"x")])
    assert is_found("übersicht")
    if is_taken_up:
        take_up_all()
    assert is_found("ÜBERSICHT")
    if has_entries:
        say("later")
        take_up_all()
        assert is_found("übersicht later word1")


@pytest.mark.parametrize("is_taken_up", [False, True])
def test_name_of_a_file_changed_by_a_call_matches(session, task, say, is_taken_up):
    say("x")
    take_up_all()
    workspace = workspace_of(session)
    file_history.record(session, workspace)
    workspace.write_bytes("reports/Größe.csv", b"x")
    (change,) = file_history.record_call(task, workspace, ToolCall(id="c", name="shell", arguments="{}"), 1)
    with transaction.atomic():
        change.seq = 1
        change.save()
        say("ran")
    if is_taken_up:
        take_up_all()
    assert is_found("größe")
    assert is_found("grösse.csv")


def test_rows_of_an_older_index_version_are_indexed_again(session, say, speak):
    say("giraffes")
    speak({"type": "result", "text": "zebra"})
    take_up_all()
    SessionText.objects.update(terms="giraffe", masked_with=redactor_of(session).version)
    assert not is_found("zebra")
    search_index.SearchIndex().run_round()
    assert (is_found("zebra"), is_found("giraffes")) == (True, True)


def test_unreadable_call_has_no_text():
    assert (
        text_of_call("{")
        == text_of_call('{"name": "message"}')
        == text_of_call('{"name": "message", "arguments": "[1"}')
        == ""
    )
    assert text_of_call('{"name": "message", "arguments": "[1]"}') == ""


def test_search_requires_access(session, say, alice, bob, charlie):
    say("giraffes")
    take_up_all()
    assert [is_found("giraffes", user) for user in (alice, bob, charlie)] == [True, True, False]


def test_unindexed_entries_match(session, say):
    say("giraffes")
    take_up_all()
    say("zebras")
    assert (is_found("giraffes"), is_found("zebras"), is_found("giraffes zebras")) == (True, True, True)


def test_busy_session_is_indexed(session, say):
    say("first")
    assert not search_index.index_new_entries()
    say(*(f"word{number}" for number in range(search_index.ENTRIES_PER_ROW)))
    assert search_index.index_new_entries()
    assert SessionText.objects.get().last_seq == search_index.ENTRIES_PER_ROW


def test_short_rows_are_extended(session, say):
    for number in range(search_index.ENTRIES_PER_ROW + 1):
        say(f"word{number}")
        take_up_all()
    rows = SessionText.objects.order_by("first_seq").values_list("first_seq", "last_seq")
    assert list(rows) == [
        (1, search_index.ENTRIES_PER_ROW),
        (search_index.ENTRIES_PER_ROW + 1, search_index.ENTRIES_PER_ROW + 1),
    ]
    assert is_found("word0")
    assert is_found(f"word{search_index.ENTRIES_PER_ROW}")


def test_many_terms_are_split_into_rows(session, say, monkeypatch):
    monkeypatch.setattr(search_index, "MOST_CHARACTERS", 100)
    say(" ".join(f"word{number}x" for number in range(50)))
    take_up_all()
    assert SessionText.objects.count() > 2
    assert all(is_found(f"word{number}x") for number in range(50))


def test_concurrent_indexing_stores_rows_once(session, say):
    say("giraffes")
    session.refresh_from_db()
    take_up_all()
    search_index._index_session(session)
    assert SessionText.objects.count() == 1


def test_secret_does_not_match(session, say, alice):
    Secret.objects.create(owner=alice, name="KEY", value=KEY)
    say(f"the key is {KEY}")
    take_up_all()
    assert (is_found("key"), is_found(KEY), is_found(KEY[:6])) == (True, False, False)


def test_later_secret_does_not_match(session, say, alice):
    say(f"the key is {KEY}", "giraffes")
    take_up_all()
    index = search_index.SearchIndex()
    index.run_round()
    assert is_found(KEY)
    Secret.objects.create(owner=alice, name="KEY", value=KEY)
    index.run_round()
    assert (is_found("giraffes"), is_found(KEY), is_found(KEY[:6])) == (True, False, False)


def test_unused_secret_changes_no_rows(session, say, alice):
    say("giraffes")
    take_up_all()
    before = SessionText.objects.get()
    Secret.objects.create(owner=alice, name="KEY", value=KEY)
    search_index.SearchIndex().run_round()
    after = SessionText.objects.get()
    assert (after.pk, after.terms) == (before.pk, before.terms)
    assert after.masked_with != before.masked_with


def test_deleted_session_leaves_no_rows(session, say):
    say("giraffes")
    take_up_all()
    session.tasks.update(state="failed", failure_code="stopped", ended_at=timezone.now())
    sessions.delete_session(session)
    assert not SessionText.objects.exists()
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM session_terms WHERE session_terms MATCH 'giraffe'")
            assert cursor.fetchone() == (0,)


def test_fork_matches_by_copied_entries(session, say, alice):
    say("giraffes", "zebras")
    take_up_all()
    with forks.prepare(session, 1, alice) as store:
        fork = store()
    assert list(Session.objects.matching("giraffes").values_list("pk", flat=True).order_by("created_at")) == [
        session.pk,
        fork.pk,
    ]
    assert not Session.objects.filter(pk=fork.pk).matching("zebras").exists()
    take_up_all()
    assert Session.objects.filter(pk=fork.pk).matching("giraffes").exists()


def test_unindexed_sessions_use_an_index(session):
    assert "sessions_behind" in Session.objects.behind().explain() or connection.vendor != "sqlite"


def test_search_reads_no_indexed_entries(session, say):
    say("giraffes")
    take_up_all()
    ContextEntry.objects.all().delete()
    assert is_found("giraffes")


def test_common_word_uses_the_index(session):
    """Building the terms again for each row would take seconds."""
    if connection.vendor != "postgresql":
        pytest.skip("of PostgreSQL alone")
    terms = " ".join(f"giraffe{n}" for n in range(300))
    texts = (SessionText(session=session, first_seq=n, last_seq=n, terms=terms) for n in range(1, 2001))
    SessionText.objects.bulk_create(texts)
    found = SessionText.objects.filter(pk__in=full_text.SESSIONS.ids("'giraffe':*"))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE session_texts")
    assert "Bitmap Index Scan on session_lexemes" in found.explain()


def test_notes_are_indexed_again_after_an_upgrade(alice):
    note = MemoryNote.objects.create(owner=alice, text="Die Reise nach İstanbul")
    MemoryNote.objects.update(terms="die reise nach i stanbul")
    import_module("tasks_app.migrations.0003_version_1_0").renew_terms(apps, connection.schema_editor())
    note.refresh_from_db()
    assert "istanbul" in note.terms.split()
