"""A deleted session takes its words and pictures along, wherever they are stored, but never those of others."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils.module_loading import import_string

from llm_app.models import Blob, LLMLog, Route
from llm_app.stored_prompt import store_prompt
from llm_app.types import Message, Picture, Prompt
from tasks_app import services
from tasks_app.models import Limits, Session
from tasks_app.record import images, unused_blobs
from tasks_app.replay.verification import Findings, of_everything
from tasks_app.services import forks
from tasks_app.worker import jobs
from tasks_app.workspace.folders import workspace_of
from tests import factories
from tests.pictures import picture
from tests.provider import openai_result
from tests.tasks_app.engine.conftest import Run, result, script


def a_day_later() -> None:
    for blob in Blob.objects.exclude(left_at=None):
        Blob.objects.filter(pk=blob.pk).update(left_at=blob.left_at - unused_blobs.GRACE_PERIOD - timedelta(minutes=1))
    jobs.clean_up()


def pictures() -> list[str]:
    return list(Blob.objects.filter(content__startswith="iVBOR").values_list("pk", flat=True))


def findings() -> Findings:
    found = Findings()
    for each in of_everything():
        found += each
    return found


@pytest.fixture
def shown(
    ask_http: Callable[..., Run], http_provider: Any, http_session: Session, monkeypatch: pytest.MonkeyPatch
) -> Session:
    """A session whose model was shown a picture."""
    monkeypatch.setattr(images, "_cache", {})
    Route.objects.update(takes_images=True)
    workspace_of(http_session).write_bytes("chart.png", picture(80, 60))
    http_provider.replies = [openai_result()]
    ask_http("What is this?", attachments=["chart.png"]).advance()
    return http_session


@pytest.mark.django_db(transaction=True)
def test_the_input_of_a_title_is_deleted(owner: Any) -> None:
    model = factories.scripted_model("script")
    Limits.objects.create(pk=1, title_model=model)
    session = factories.SessionFactory(owner=owner, model=model)
    task = services.post_message(session, owner, "My diagnosis is lupus. " + script(result())).task
    assert task is not None
    Run(task).advance()
    calls = LLMLog.objects.count()
    services.delete_session(session)
    a_day_later()
    assert not Blob.objects.filter(content__contains="lupus").exists()
    assert (LLMLog.objects.count(), findings().gone, findings().mismatches) == (calls, calls, [])


def test_pictures_are_deleted(shown: Session) -> None:
    services.delete_session(shown)
    jobs.clean_up()
    assert pictures()
    a_day_later()
    assert not pictures()


def test_pictures_stay_until_the_last_fork_is_deleted(shown: Session, owner: Any) -> None:
    fork = forks.fork(shown, shown.tasks.get().entries.order_by("seq").last().seq, owner)
    services.delete_session(shown)
    a_day_later()
    assert pictures()
    services.delete_session(fork)
    a_day_later()
    assert not pictures()


def test_blobs_in_other_messages_or_prompts_stay(shown: Session, owner: Any) -> None:
    (address,) = pictures()
    other = factories.SessionFactory(owner=owner)
    waiting = other.inbox.create(author=owner, mode="queue", content="Look.", images=[{"sha256": address}])
    log = LLMLog.objects.get()
    services.delete_session(shown)
    a_day_later()
    assert pictures()
    seen = Picture(media_type="image/png", data=Blob.objects.get(pk=address).content, path="a", width=80, height=60)
    kept = store_prompt(Prompt(system="See.", tools=(), messages=[Message(role="user", content="Q", pictures=(seen,))]))
    log.pk, log.session_id, log.messages_blob = None, other.pk, kept.references.messages_blob
    log.save(force_insert=True)
    waiting.delete()
    Blob.objects.update(left_at=log.created_at)
    a_day_later()
    assert pictures()
    services.delete_session(other)
    a_day_later()
    assert not pictures()


def test_a_blob_stored_again_stays_until_a_row_names_it(shown: Session) -> None:
    (address,) = pictures()
    content = Blob.objects.get(pk=address).content
    services.delete_session(shown)
    Blob.store(content)
    a_day_later()
    assert pictures()


def test_a_blob_stored_during_its_deletion_is_stored_again(shown: Session, monkeypatch: Any) -> None:
    (address,) = pictures()
    blob = Blob.objects.get(pk=address)
    services.delete_session(shown)
    monkeypatch.setattr("llm_app.models.log._left_at", lambda address: [blob.created_at])
    Blob.objects.filter(pk=address).delete()
    assert Blob.store(blob.content) == address
    assert pictures() == [address]


def test_a_blob_stored_during_the_search_is_not_deleted(shown: Session, monkeypatch: Any) -> None:
    (address,) = pictures()
    content = Blob.objects.get(pk=address).content
    services.delete_session(shown)
    monkeypatch.setattr(unused_blobs, "_referenced", lambda addresses: [Blob.store(content)][1:])
    a_day_later()
    assert pictures()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "place", ["tasks_app.worker.jobs.title_from_model", "tasks_app.services.sessions.make_side_call"]
)
def test_a_session_deleted_during_its_title_call_leaves_no_words(
    place: str, owner: Any, monkeypatch: Any, caplog: Any
) -> None:
    model = factories.scripted_model("script")
    Limits.objects.create(pk=1, title_model=model)
    session = factories.SessionFactory(owner=owner, model=model)
    asks = import_string(place)

    def deleted_meanwhile(*args: Any, **kwargs: Any) -> Any:
        services.delete_session(session)
        return asks(*args, **kwargs)

    monkeypatch.setattr(place, deleted_meanwhile)
    task = services.post_message(session, owner, "My diagnosis is lupus. " + script(result())).task
    assert task is not None
    jobs.advance(task.pk)
    a_day_later()
    assert not Session.objects.exists()
    assert not Blob.objects.filter(content__contains="lupus").exists()
    assert not [record for record in caplog.records if record.levelname == "ERROR"]
