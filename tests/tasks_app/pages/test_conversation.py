"""The forms of a session's page: messages, stop, title, model, deletion."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from tasks_app.models import InboxMessage, Session, Task
from tasks_app.workspace.folders import workspace_of
from tests import factories


@pytest.fixture
def say(alices, session):
    return lambda way="htmx", **form: getattr(alices, way)(f"{session.get_absolute_url()}messages/", form)


def upload(name="a.txt", content=b"x"):
    return SimpleUploadedFile(name, content)


def test_message_starts_a_task(say, session):
    assert say(content="Hello.").status_code == 204
    assert session.entries.get().content == "Hello."


def test_line_breaks_of_a_message_are_kept(say, session):
    say(content="one\r\ntwo\0")
    assert session.entries.get().content == "one\ntwo"


def test_message_with_files(say, session):
    say(content="Look.", files=[upload("a.txt", b"A"), upload("b.txt", b"B")])
    assert session.entries.get().metadata["attachments"] == ["a.txt", "b.txt"]
    assert workspace_of(session).read_bytes("b.txt") == b"B"


def test_attached_document_says_how_to_read_it(say, session):
    say(content="Look.", files=[upload("a.PDF")])
    hint = "[attached file: a.PDF, PDF: read it with the tool file, page by page]"
    assert session.entries.get().content == f"Look.\n\n{hint}"


def test_a_file_handed_again_says_what_became_of_the_earlier_one(say, session):
    workspace_of(session).write_bytes("a.txt", b"old")
    say(content="Look.", files=[upload("a.txt", b"new")])
    remark = "[attached file: a-2.txt (newer than the earlier a.txt, which is kept unchanged under that name)]"
    assert session.entries.get().content == f"Look.\n\n{remark}"
    assert workspace_of(session).read_bytes("a.txt") == b"old"
    assert workspace_of(session).read_bytes("a-2.txt") == b"new"


def test_a_name_with_a_number_alone_says_nothing_of_an_earlier_file(say, session):
    say(content="Look.", files=[upload("a-2.txt")])
    assert session.entries.get().content.endswith("[attached file: a-2.txt]")


def test_answer_with_files(say, session, asking):
    say(content="This one.", files=[upload("a.txt")])
    assert session.entries.last().content == "This one.\n\n[attached file: a.txt]"


def test_empty_message_is_refused_with_a_reason(say, session):
    response = say(content="  ")
    assert response.status_code == 422
    assert "Write something" in response.content.decode()
    assert not session.entries.exists()


def test_refusal_without_scripts_is_shown_on_the_page(say, alices, session):
    assert "Write something" in alices.get(say(way="post", content="")["Location"]).content.decode()


@pytest.mark.parametrize(
    ("mode", "kept"),
    [("queue", "queue"), ("steer", "steer"), ("interject", "interject"), ("?", "interject"), ("", "interject")],
)
def test_message_during_a_task_waits_in_its_mode(mode, kept, say, session, task):
    say(content="More.", mode=mode)
    assert InboxMessage.objects.waiting_in(session).get().mode == kept


@pytest.fixture
def waiting(say, session, task):
    """Return a message that waits for the next task."""
    say(content="Later.", mode="queue")
    return InboxMessage.objects.get()


def test_waiting_message_can_be_changed(alices, session, waiting):
    address = f"{session.get_absolute_url()}messages/{waiting.pk}/"
    assert alices.htmx(address, {"content": "Sooner."}).status_code == 204
    waiting.refresh_from_db()
    assert waiting.content == "Sooner."


def test_waiting_message_can_be_removed(alices, session, waiting):
    address = f"{session.get_absolute_url()}messages/{waiting.pk}/"
    assert alices.htmx(address, {"content": "Later.", "remove": "yes"}).status_code == 204
    assert not InboxMessage.objects.exists()


def test_delivered_message_cannot_be_changed(alices, session, waiting):
    InboxMessage.objects.update(delivered_seq=1)
    response = alices.htmx(f"{session.get_absolute_url()}messages/{waiting.pk}/", {"content": "Sooner."})
    assert (response.status_code, "no longer waiting" in response.content.decode()) == (409, True)


def test_stop_is_requested_immediately(alices, session, task):
    assert alices.htmx(f"{session.get_absolute_url()}stop/").status_code == 204
    task.refresh_from_db()
    assert task.stop_requested_at is not None


def test_stop_without_a_task_does_nothing(alices, session):
    assert alices.htmx(f"{session.get_absolute_url()}stop/").status_code == 204


def test_session_starts_with_its_first_message(alices, alice):
    factories.scripted_model("script")
    response = alices.post("/", {"content": "Find the cat.", "files": [upload("cat.txt")]})
    session = Session.objects.get(owner=alice)
    assert response["Location"] == session.get_absolute_url()
    assert (session.title, session.entries.get().metadata["attachments"]) == ("Find the cat.", ["cat.txt"])


def test_refused_first_message_leaves_no_session(alices, alice):
    response = alices.post("/", {"content": ""}, follow=True)
    assert "Write something" in response.content.decode()
    assert not Session.objects.filter(owner=alice).exists()


def test_session_can_start_with_another_model(alices, alice):
    model = factories.scripted_model("script")
    alices.post("/", {"content": "Hello.", "model": model.name})
    assert Session.objects.get(owner=alice).model == model


def test_title_and_model_can_be_changed(alices, session):
    model = factories.scripted_model("demo")
    alices.htmx(f"{session.get_absolute_url()}change/", {"title": "  A\tnew  name ", "model": model.name})
    session.refresh_from_db()
    assert (session.title, session.model) == ("A new name", model)


def test_empty_title_changes_nothing(alices, session):
    session.title = "Kept"
    session.save()
    alices.htmx(f"{session.get_absolute_url()}change/", {"title": " "})
    session.refresh_from_db()
    assert session.title == "Kept"
    assert session.model is not None


def test_session_is_deleted_after_a_confirmation(alices, session):
    address = f"{session.get_absolute_url()}delete/"
    assert "This cannot be undone." in alices.page(address)
    response = alices.post(address, follow=True)
    assert "is deleted" in response.content.decode()
    assert not Session.objects.filter(pk=session.pk).exists()


def test_session_with_a_running_task_is_not_deleted(alices, session, task):
    response = alices.post(f"{session.get_absolute_url()}delete/", follow=True)
    assert "Stop it first" in response.content.decode()
    assert Task.objects.filter(session=session).exists()


def test_form_needs_a_csrf_token(browser, alice, session):
    strict = browser(alice)
    strict.handler.enforce_csrf_checks = True
    response = strict.post(f"{session.get_absolute_url()}messages/", {"content": "Hello."})
    assert response.status_code == 403
    assert "This page is out of date" in response.content.decode()
    said = strict.htmx(f"{session.get_absolute_url()}messages/", {"content": "Hello."}).content.decode()
    assert said.startswith('<div class="toast bad">')
    assert "signed in or out since this page was loaded" in said
