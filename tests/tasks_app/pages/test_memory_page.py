"""The memory page: users manage their own notes, administrators those of the team."""

import pytest

from llm_app.models import Secret
from tasks_app.models import MemoryNote, Session
from tasks_app.services import secrets


@pytest.fixture
def note(alice, task):
    return MemoryNote.objects.create(owner=alice, text="Tea, no coffee.", task=task, call_id="call_0")


def test_empty_memory_explains_itself(alices):
    assert "Tell the agent in any session what it should remember" in alices.page("/memory/")


def test_note_is_added_changed_and_deleted(alices, alice):
    alices.post("/memory/add/", {"text": " Tea,\r\nno coffee. "})
    note = MemoryNote.objects.get()
    assert (note.owner, note.text) == (alice, "Tea,\nno coffee.")
    alices.post(f"/memory/{note.pk}/", {"text": "Coffee."})
    note.refresh_from_db()
    assert (note.text, note.terms) == ("Coffee.", "coffee")
    assert "Coffee." in alices.page("/memory/")
    answer = alices.post(f"/memory/{note.pk}/delete/", follow=True)
    assert "The note is deleted." in answer.content.decode()
    assert not MemoryNote.objects.exists()


def test_captured_note_is_marked_until_changed(alices, note):
    MemoryNote.objects.update(auto=True)
    assert "auto-captured, " in alices.page("/memory/")
    alices.post(f"/memory/{note.pk}/", {"text": "Tea."})
    assert "auto-captured" not in alices.page("/memory/")


@pytest.mark.parametrize(("text", "said"), [(" ", "The note is empty"), ("x" * 1001, "at most 1,000 characters")])
def test_refused_note_reports_the_reason(text, said, alices):
    assert said in alices.post("/memory/add/", {"text": text}, follow=True).content.decode()
    assert not MemoryNote.objects.exists()


def test_notes_of_other_users_are_inaccessible(browser, charlie, note, session):
    charlies = browser(charlie)
    assert "Tea" not in charlies.page("/memory/")
    for address in (f"/memory/{note.pk}/", f"/memory/{note.pk}/delete/", f"{session.get_absolute_url()}forget/"):
        assert charlies.post(address, {"text": "x", "call": "call_0"}).status_code == 404
    note.refresh_from_db()
    assert note.text == "Tea, no coffee."


def test_team_notes_are_written_by_administrators_and_read_by_all(browser, alice, bob):
    alices, bobs = browser(alice), browser(bob)
    assert (
        "Only administrators" in alices.post("/memory/add/", {"text": "x", "team": "1"}, follow=True).content.decode()
    )
    alice.is_staff = True
    alice.save()
    alices.post("/memory/add/", {"text": "Releases on Tuesdays.", "team": "1"})
    note = MemoryNote.objects.get(owner=None)
    assert "Releases on Tuesdays." in bobs.page("/memory/")
    assert f'action="/memory/{note.pk}/"' not in bobs.page("/memory/")
    assert bobs.post(f"/memory/{note.pk}/delete/").status_code == 404
    alices.post(f"/memory/{note.pk}/delete/")
    assert not MemoryNote.objects.exists()


def test_chat_shows_a_remembered_note_and_can_delete_it(alices, called, note, session, browser, bob):
    called("memory", '{"action": "remember", "text": "Tea, no coffee."}', "Remembered.", remembered=True)
    address = f"{session.get_absolute_url()}forget/"
    assert "Remembered: “Tea, no coffee.”" in alices.page(session.get_absolute_url())
    assert address in alices.page(session.get_absolute_url())
    assert address not in browser(bob).page(session.get_absolute_url())
    browser(bob).htmx(address, {"call": "call_0"})
    assert MemoryNote.objects.exists()
    assert "The note is deleted." in alices.htmx(address, {"call": "call_0"}).content.decode()
    assert not MemoryNote.objects.exists()
    assert "This note no longer exists." in alices.htmx(address, {"call": "call_0"}).content.decode()


def test_secrets_in_notes_are_redacted_on_saving_and_later(alices, alice, bob):
    Secret.objects.create(owner=alice, name="KEY", value="s3cr3t-value")
    alices.post("/memory/add/", {"text": "The key is s3cr3t-value."})
    alices.post("/memory/add/", {"text": "The other is an0ther-value."})
    MemoryNote.objects.create(owner=bob, text="Mine is an0ther-value.")
    MemoryNote.objects.create(text="Ours is an0ther-value.")
    secrets.create(alice, "OTHER", "an0ther-value")
    texts = set(MemoryNote.objects.values_list("text", flat=True))
    assert {"The key is [secret:KEY].", "The other is [secret:OTHER]."} <= texts
    assert {"Mine is an0ther-value.", "Ours is an0ther-value."} <= texts  # alice cannot change the team's notes
    assert not MemoryNote.objects.of_user(alice).with_any_term(["an0ther"]).exists()
    secrets.create(None, "TEAM", "an0ther-value")
    assert not any("an0ther" in text for text in MemoryNote.objects.values_list("text", flat=True))


def test_off_the_record_session_is_chosen_and_labelled(alices, session):
    assert 'name="off_record"' in alices.page("/")
    alices.post("/", {"content": "Hush.", "off_record": "1"})
    hushed = Session.objects.get(off_record=True)
    assert "Off the record</span>" in alices.page(hushed.get_absolute_url())
    assert "Off the record</span>" not in alices.page(session.get_absolute_url())
