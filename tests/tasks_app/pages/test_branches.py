"""Branches in the chat, and the pages of what the model saw."""

import json
import re
from typing import Any

import pytest

from llm_app.models import LLMLog, Secret
from tasks_app import services
from tasks_app.models import ContextEntry, ContextType, Session, Task
from tasks_app.replay.readable import compare
from tasks_app.worker import jobs
from tests.tasks_app.engine.conftest import call, result, script

SECRET = "s3cr3t-abcdefgh-1234"


@pytest.fixture
def ran(transactional_db: None, session: Any, alice: Any) -> Task:
    services.change_session(session, title="A talk")
    session.refresh_from_db()
    words = script(call("message", type="info", text=f"About {SECRET}."), result())
    task = services.post_message(session, alice, words).task
    jobs.advance(task.pk)
    return task


def test_answer_links_to_what_the_model_saw(ran: Task, alices: Any, session: Any) -> None:
    answers = session.entries.filter(context_type=ContextType.AI_MESSAGE)
    for log, answer in zip(LLMLog.objects.order_by("created_at"), answers, strict=True):
        address = f"{session.get_absolute_url()}calls/{log.id}/"
        assert address in alices.page(f"{session.get_absolute_url()}ways/{answer.seq}/")
        assert "What the model saw" in alices.page(address)


def test_page_shows_changes_since_the_previous_call(ran: Task, alices: Any, session: Any) -> None:
    first, second = LLMLog.objects.order_by("created_at")
    address = f"{session.get_absolute_url()}calls/"
    assert f"{address}{second.id}/" in alices.page(f"{address}{first.id}/")
    page = alices.page(f"{address}{second.id}/")
    new, _, kept = page.partition('id="kept-title"')
    assert f"About {SECRET}." in new
    assert "Today is" not in new
    assert "content: You are" not in kept  # unchanged messages are one line each until opened
    number = re.search(r'href="[?]piece=(\d+)"', kept)[1]
    assert "role: " in alices.page(f"{address}{second.id}/?piece={number}")
    assert alices.get(f"{address}{second.id}/?piece=9999").status_code == 404
    assert alices.get(f"{address}{second.id}/?piece={'9' * 5000}").status_code == 200  # not a number: the entire page


def test_steps_are_listed_with_their_requests(ran: Task, alices: Any, session: Any) -> None:
    page = alices.page(f"{session.get_absolute_url()}context/")
    for log in LLMLog.objects.all():
        assert f"{session.get_absolute_url()}calls/{log.id}/" in page


def test_moved_cache_mark_is_ignored_and_dropped_messages_are_counted() -> None:
    def body(*said: str, marked: int) -> bytes:
        messages = [{"role": "user", "content": [{"type": "text", "text": words}]} for words in said]
        messages[marked]["content"][0]["cache_control"] = {"type": "ephemeral"}
        return json.dumps({"model": "m", "system": "Be brief.", "messages": messages}).encode()

    found = compare(body("one", "two", marked=1), body("two", "three", marked=1))
    assert [piece.gist for piece in found.new] == ["three"]
    assert ([piece.name for piece in found.kept], found.gone) == (["parameters", "user"], 1)


def test_download_has_the_exact_bytes(ran: Task, alices: Any, session: Any) -> None:
    log = LLMLog.objects.first()
    body = alices.get(f"{session.get_absolute_url()}calls/{log.id}/request/").content
    assert len(body) == log.request_bytes
    assert json.loads(body)["model"] == "script"


def test_new_secret_is_redacted_on_the_page(ran: Task, alices: Any, alice: Any, session: Any) -> None:
    Secret.objects.create(owner=alice, name="TOKEN", value=SECRET)
    log = LLMLog.objects.latest("created_at")
    page = alices.page(f"{session.get_absolute_url()}calls/{log.id}/")
    assert SECRET not in page
    assert "has since been saved as a secret" in page


def test_other_users_cannot_see_calls(ran: Task, browser: Any, charlie: Any, session: Any) -> None:
    for end in (
        f"calls/{LLMLog.objects.first().id}/",
        f"calls/{LLMLog.objects.first().id}/request/",
        "ways/1/",
        "steps/1/",
    ):
        assert browser(charlie).get(f"{session.get_absolute_url()}{end}").status_code == 404


def test_fork_names_its_origin(ran: Task, alices: Any, session: Any) -> None:
    response = alices.post(f"{session.get_absolute_url()}fork/", {"seq": "4"})
    (fork,) = Session.objects.filter(parent=session)
    assert response["Location"] == f"{fork.get_absolute_url()}#end"
    assert f"{session.get_absolute_url()}#e4" in alices.page(fork.get_absolute_url())
    assert f"{fork.get_absolute_url()}#e4" in alices.page(session.get_absolute_url())


def test_htmx_is_redirected_to_the_fork(ran: Task, alices: Any, session: Any) -> None:
    response = alices.htmx(f"{session.get_absolute_url()}fork/", {"seq": "4"})
    assert response["HX-Redirect"].startswith("/s/")


def test_edited_message_starts_a_fork(ran: Task, alices: Any, session: Any) -> None:
    assert "Send the edited message" in alices.page(f"{session.get_absolute_url()}ways/1/")
    alices.post(f"{session.get_absolute_url()}fork/", {"seq": "1", "again": "yes", "content": "Else."})
    fork = Session.objects.get(parent=session)
    assert ContextEntry.objects.in_session(fork).first().content == "Else."
    assert fork.tasks.get().is_active


def test_regenerating_an_answer_creates_a_fork(ran: Task, alices: Any, session: Any) -> None:
    alices.post(f"{session.get_absolute_url()}fork/", {"seq": str(session.entries.last().seq), "again": "yes"})
    fork = Session.objects.get(parent=session)
    assert ContextEntry.objects.in_session(fork).first().content == session.entries.first().content


def test_readers_can_fork_and_others_cannot(ran: Task, browser: Any, bob: Any, charlie: Any, session: Any) -> None:
    assert browser(charlie).post(f"{session.get_absolute_url()}fork/", {"seq": "1"}).status_code == 404
    browser(bob).post(f"{session.get_absolute_url()}fork/", {"seq": "1"})
    assert Session.objects.get(parent=session).owner == bob


@pytest.mark.parametrize("seq", ["", "x", "-1", "9999999999"])
def test_invalid_seq_is_404(ran: Task, alices: Any, session: Any, seq: str) -> None:
    assert alices.post(f"{session.get_absolute_url()}fork/", {"seq": seq}).status_code == 404
