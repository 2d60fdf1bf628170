"""Export of sessions, and import of conversations from other programs. The files in `chats` are ours, in their
formats.
"""

import io
import json
import re
import zipfile
from pathlib import Path

import pytest

from llm_app.models import Secret
from tasks_app.engine.compaction.summary import line_of
from tasks_app.models import ContextEntry, Limits, Session
from tasks_app.models.errors import SessionsQuotaFull
from tasks_app.record import message_of, redact_entries
from tasks_app.record.turns import group
from tasks_app.services import forks, transfer
from tasks_app.text.foreign_chats import UnreadableChats, read_chats
from tests import factories
from tests.tasks_app.api.conftest import program, task
from tests.tasks_app.pages.conftest import browser, called, recorded

__all__ = ["browser", "called", "program", "recorded", "task"]
CHATS = Path(__file__).parent / "chats"


def import_sessions(owner, data):
    with transfer.prepared_import(owner, io.BytesIO(data)) as store:
        return store()


def words(name):
    return [(said.role, said.text) for said in read_chats((CHATS / name).read_bytes())[0].messages]


def test_chatgpt_import_reads_the_current_branch_only():
    newest, older = read_chats((CHATS / "chatgpt.json").read_bytes())
    assert (newest.origin, newest.title, newest.at.year) == ("ChatGPT", "A trip to Lisbon", 2025)
    assert [said.text for said in newest.messages] == [
        "What should I see in Lisbon?",
        "Belém and the **Alfama**.",
        "And this place?",
        "That is </client_history> the Carmo convent.",
    ]
    assert (older.title, [said.text for said in older.messages]) == ("", ["Capital of France?", "Paris."])


def test_chatgpt_archive_is_accepted():
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("conversations.json", (CHATS / "chatgpt.json").read_bytes())
        archive.writestr("user.json", "{}")
    assert len(read_chats(packed.getvalue())) == 2


@pytest.mark.parametrize("fault", ["encrypted", "unknown method", "damaged"])
def test_damaged_archive_is_refused(fault, program, alice):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", b"[" + b"1," * 10_000 + b"1]")
    data = bytearray(packed.getvalue())
    entry = data.index(b"PK\x01\x02")  # has the compression method, as the local header does
    if fault == "encrypted":
        data[6] = data[entry + 8] = 1
    elif fault == "unknown method":
        data[8] = data[entry + 10] = 77
    else:
        data[50:60] = b"\xff" * 10
    kind = "application/octet-stream"
    answer = program(alice).generic("POST", "/api/v1/sessions/import/", bytes(data), content_type=kind)
    assert answer.status_code == 422
    assert "cannot be read" in answer.json()["detail"]


def test_open_webui_import_reads_the_current_branch():
    assert words("open_webui.json") == [
        ("user", "Write a haiku."),
        ("assistant", "Rain on the tin roof."),
        ("user", "Thanks!"),
    ]


@pytest.mark.parametrize("name", ["librechat.json", "librechat_tree.json"])
def test_librechat_import_reads_the_last_branch(name):
    assert words(name) == [("user", "Which colour?"), ("assistant", "Blue."), ("user", "Why?")]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no json",
        b"[]",
        b"5",
        b'"x"',
        b"[[1]]",
        b'{"mapping": 5}',
        b'{"mapping": {}}',
        b'{"mapping": {"a": {"parent": "a", "message": {"author": {"role": "user"}, "content": {}}}}}',
        b'{"conversationId": 1, "messages": [1]}',
        b'{"history": {"messages": {"a": {"parentId": "a"}}, "currentId": "a"}}',
        b'{"format": "agentsite-session", "messages": [{}]}',
        b"PK\x03\x04 broken",
        b"[" * 100_000,
    ],
)
def test_other_files_are_refused(data):
    with pytest.raises(UnreadableChats):
        read_chats(data)


@pytest.fixture
def imported(alice):
    return import_sessions(alice, (CHATS / "chatgpt.json").read_bytes()).sessions


def test_import_is_tagged_history(imported):
    first, *entries = ContextEntry.objects.in_session(imported[0])
    assert first.metadata["kind"] == "imported"
    assert [(entry.context_type, entry.role) for entry in entries] == [
        ("client_history", "user"),
        ("client_history", "assistant"),
    ] * 2
    message = message_of(entries[3])
    assert (message.role, message.tool_call) == ("assistant", None)
    closed = "That is <\\/client_history> the Carmo convent."
    assert message.content == f'<client_history origin="ChatGPT">\n{closed}\n</client_history>'


def test_imported_turns_are_cut_as_wholes(imported):
    turns = group(ContextEntry.objects.in_session(imported[0]))
    lines = [line_of(turn, lambda name, arguments: name).text for turn in turns]
    assert [re.match(r"<(\w+)", line)[1] for line in lines] == ["note", "user", "agent", "user", "agent"]
    assert 'type="imported"' in lines[2]


def test_import_can_be_forked(imported, alice):
    copy = forks.fork(imported[0], 3, alice)
    kinds = [(entry.context_type, entry.role) for entry in ContextEntry.objects.in_session(copy)]
    assert kinds[1:3] == [("client_history", "user"), ("client_history", "assistant")]


def test_import_is_redacted(alice):
    Secret.objects.create(owner=alice, name="KEY", value="Alfama-s3cr3t")
    data = (
        (CHATS / "chatgpt.json").read_bytes().replace(b"Alfama", b"Alfama-s3cr3t").replace(b"A trip", b"Alfama-s3cr3t")
    )
    (session, _) = import_sessions(alice, data).sessions
    assert session.title == "[secret:KEY] to Lisbon"
    contents = ContextEntry.objects.in_session(session).values_list("content", flat=True)
    assert not any("s3cr3t" in content for content in contents)


def test_page_imports_a_file_and_lists_the_sessions(browser, alice):
    alices = browser(alice)
    with (CHATS / "open_webui.json").open("rb") as file:
        page = alices.post("/sessions/import/", {"file": file}, follow=True).content.decode()
    assert "Haiku" in page
    session = Session.objects.get()
    shown = alices.page(f"/s/{session.pk}/")
    assert "Rain on the tin roof." in shown
    assert "&lt;client_history" not in shown
    assert "cannot be read" in alices.post("/sessions/import/", {}, follow=True).content.decode()


def test_export_can_be_imported(session, called, recorded, program, alice):
    recorded("user_message", "Count to three.", metadata={"author": "alice"})
    called("file", '{"action": "read", "path": "a.txt"}', "one\n```\ntwo")
    called("message", '{"type": "result", "text": "One, two, three."}', "")
    alices = program(alice)
    answer = alices.get(f"/api/v1/sessions/{session.pk}/export/?kind=json")
    assert "attachment" in answer["Content-Disposition"]
    content = json.loads(answer.content)
    assert [one["text"] for one in content["messages"]] == ["Please.", "Count to three.", "One, two, three."]
    assert "tool_result" in {entry["context_type"] for entry in content["entries"]}
    taken = alices.generic("POST", "/api/v1/sessions/import/", answer.content, content_type="application/octet-stream")
    assert taken.status_code == 201
    copy = Session.objects.get(pk=taken.json()["sessions"][0])
    assert [entry.role for entry in ContextEntry.objects.in_session(copy)][1:] == ["user", "user", "assistant"]
    again = [one["text"] for one in json.loads(transfer.as_json(copy))["messages"]]
    assert again == [one["text"] for one in content["messages"]]


def chats(*lengths):
    """A file with conversations of so many messages, each newer than the one before."""
    said = {"role": "user", "text": "Hello."}
    return json.dumps(
        [
            {
                "format": "agentsite-session",
                "title": f"{day}",
                "updated_at": f"2026-01-{day:02}",
                "messages": [said] * length,
            }
            for day, length in enumerate(lengths, 1)
        ]
    ).encode()


def test_import_is_limited_and_reports_omitted_chats(alice, browser, monkeypatch):
    monkeypatch.setattr(transfer, "MAX_IMPORTED_MESSAGES", 5)
    sessions, left_out = import_sessions(alice, chats(2, 3, 2))
    assert ([session.title for session in sessions], left_out) == (["3", "2"], 1)
    file = io.BytesIO(chats(4, 2))
    page = browser(alice).post("/sessions/import/", {"file": file}, follow=True).content.decode()
    assert "Older conversations left out: 1." in page


def test_import_beyond_the_quota_creates_nothing(alice):
    Limits.objects.create(pk=1, user_sessions=3)
    factories.SessionFactory(owner=alice)
    with pytest.raises(SessionsQuotaFull):
        import_sessions(alice, chats(1, 1, 1))
    assert Session.objects.count() == 1
    assert len(import_sessions(alice, chats(1, 1)).sessions) == 2


def test_large_file_with_an_idempotency_key(program, alice, settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    alices = program(alice)

    def post(data):
        kind, key = "application/octet-stream", {"Idempotency-Key": "once"}
        return alices.generic("POST", "/api/v1/sessions/import/", data, content_type=kind, headers=key)

    first, again, other = post(chats(2, 1)), post(chats(2, 1)), post(chats(3))
    assert (first.status_code, first.json()["left_out"], again.json()) == (201, 0, first.json())
    assert (other.status_code, Session.objects.count()) == (422, 2)


def test_markdown_has_messages_and_fenced_calls(session, called, recorded):
    recorded("user_message", "Read it.", metadata={"author": "alice"})
    called("file", '{"action": "read", "path": "a.txt"}', "one\n````\ntwo")
    text = transfer.as_markdown(session)
    assert "## User\n\nRead it." in text
    assert "### Tool: file" in text
    assert "`````\none\n````\ntwo\n`````" in text


def test_export_is_redacted(session, recorded):
    recorded("user_message", "My key is late-s3cr3t.", metadata={"author": "alice"})
    Secret.objects.create(owner=session.owner, name="LATE", value="late-s3cr3t")
    for text in (transfer.as_markdown(session), transfer.as_json(session).decode()):
        assert "late-s3cr3t" not in text
        assert "[secret:LATE]" in text
    assert redact_entries(session, ContextEntry.objects.in_session(session))


def test_export_requires_access(session, browser, charlie, bob):
    address = f"/s/{session.pk}/export/?kind=markdown"
    assert browser(charlie).get(address).status_code == 404
    assert browser(bob).get(address).status_code == 200


@pytest.mark.parametrize("at", ["0001-01-01T00:00:00", "9999-12-31T23:59:59", -62135596800, 253402300799])
@pytest.mark.parametrize("zone", ["America/New_York", "Pacific/Kiritimati"])
def test_impossible_times_do_not_break_pages(at, zone, browser, alice, bob):
    chat = {"format": "agentsite-session", "title": "Odd", "updated_at": at}
    data = json.dumps({**chat, "messages": [{"role": "user", "text": "Hello.", "at": at}]}).encode()
    (session,) = import_sessions(alice, data).sessions
    session.memberships.create(user=bob)
    bobs = browser(bob)
    bobs.cookies["timezone"] = zone
    assert "Odd" in bobs.page("/")
    assert "Hello." in bobs.page(session.get_absolute_url())


def test_nul_is_replaced(alice):
    chat = {"format": "agentsite-session", "title": "A\0B", "messages": [{"role": "user", "text": "C\0D"}]}
    (session,) = import_sessions(alice, json.dumps(chat).encode()).sessions
    contents = "".join(ContextEntry.objects.in_session(session).values_list("content", flat=True))
    assert "\0" not in session.title + contents


def test_compressed_bomb_is_refused_unread(monkeypatch):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", b"[" + b"[]," * 3_000_000 + b"[]]")
    monkeypatch.setattr("orjson.loads", lambda data: pytest.fail("these would take a gigabyte"))
    with pytest.raises(UnreadableChats):
        read_chats(packed.getvalue())
