"""In the chat: what the model saw, and the ways to go on differently."""

import json
from typing import Any

import pytest

from llm_app.models import LLMLog, Secret
from tasks_app import services
from tasks_app.models import ContextEntry, Session, Task
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


def test_each_answer_leads_to_what_the_model_saw(ran: Task, alices: Any, session: Any) -> None:
    page = alices.page(session.get_absolute_url())
    for log in LLMLog.objects.all():
        address = f"{session.get_absolute_url()}calls/{log.id}/"
        assert address in page
        assert "What the model saw" in alices.page(address)


def test_the_page_shows_what_is_new_since_the_call_before(ran: Task, alices: Any, session: Any) -> None:
    first, second = LLMLog.objects.order_by("created_at")
    address = f"{session.get_absolute_url()}calls/"
    assert "the first call" in alices.page(f"{address}{first.id}/")
    page = alices.page(f"{address}{second.id}/")
    new = page.partition('class="output diff"')[2].partition("</pre>")[0]
    assert f"About {SECRET}." in new
    assert "Today is" not in new.partition('class="added"')[2]


def test_the_download_is_the_very_bytes(ran: Task, alices: Any, session: Any) -> None:
    log = LLMLog.objects.first()
    body = alices.get(f"{session.get_absolute_url()}calls/{log.id}/request/").content
    assert len(body) == log.request_bytes
    assert json.loads(body)["model"] == "script"


def test_what_became_secret_is_redacted_on_the_page_too(ran: Task, alices: Any, alice: Any, session: Any) -> None:
    Secret.objects.create(owner=alice, name="TOKEN", value=SECRET)
    log = LLMLog.objects.latest("created_at")
    page = alices.page(f"{session.get_absolute_url()}calls/{log.id}/")
    assert SECRET not in page
    assert "has since been saved as a secret" in page


def test_others_see_no_call(ran: Task, browser: Any, charlie: Any, session: Any) -> None:
    for end in ("", "request/"):
        address = f"{session.get_absolute_url()}calls/{LLMLog.objects.first().id}/{end}"
        assert browser(charlie).get(address).status_code == 404


def test_a_fork_is_a_page_of_its_own_that_names_its_origin(ran: Task, alices: Any, session: Any) -> None:
    response = alices.post(f"{session.get_absolute_url()}fork/", {"seq": "4"})
    (fork,) = Session.objects.filter(parent=session)
    assert response["Location"] == f"{fork.get_absolute_url()}#end"
    assert f"{session.get_absolute_url()}#e4" in alices.page(fork.get_absolute_url())


def test_htmx_is_led_to_the_fork(ran: Task, alices: Any, session: Any) -> None:
    response = alices.htmx(f"{session.get_absolute_url()}fork/", {"seq": "4"})
    assert response["HX-Redirect"].startswith("/s/")


def test_an_edited_message_starts_anew_in_a_fork(ran: Task, alices: Any, session: Any) -> None:
    assert "Send the edited message" in alices.page(session.get_absolute_url())
    alices.post(f"{session.get_absolute_url()}fork/", {"seq": "1", "again": "yes", "content": "Else."})
    fork = Session.objects.get(parent=session)
    assert ContextEntry.objects.in_session(fork).first().content == "Else."
    assert fork.tasks.get().is_active


def test_another_answer_is_asked_for_in_a_fork(ran: Task, alices: Any, session: Any) -> None:
    alices.post(f"{session.get_absolute_url()}fork/", {"seq": str(session.entries.last().seq), "again": "yes"})
    fork = Session.objects.get(parent=session)
    assert ContextEntry.objects.in_session(fork).first().content == session.entries.first().content


def test_readers_may_fork_and_others_may_not(ran: Task, browser: Any, bob: Any, charlie: Any, session: Any) -> None:
    assert browser(charlie).post(f"{session.get_absolute_url()}fork/", {"seq": "1"}).status_code == 404
    browser(bob).post(f"{session.get_absolute_url()}fork/", {"seq": "1"})
    assert Session.objects.get(parent=session).owner == bob


@pytest.mark.parametrize("seq", ["", "x", "-1", "9999999999"])
def test_a_seq_that_is_none_is_404(ran: Task, alices: Any, session: Any, seq: str) -> None:
    assert alices.post(f"{session.get_absolute_url()}fork/", {"seq": seq}).status_code == 404
