"""Task copies in forks, which neither failed nor ran: not counted, listed or announced as failures."""

from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from tasks_app.models import Session, Task
from tasks_app.services import diagnosis, forks
from tasks_app.templatetags.chat import session_badge, task_badge
from tasks_app.worker import mails
from tests import factories
from tests.tasks_app.engine.conftest import owner, play

__all__ = ["owner", "play"]


@pytest.fixture
def origin(play: Any) -> Session:
    """A task that failed, and one that is done."""
    run = play(*["No call."] * 4)
    assert run.advance().state == "failed"
    return run.task.session


@pytest.fixture
def cut_off(origin: Session, owner: Any) -> Task:
    """A fork with only the first entry of the task."""
    return forks.fork(origin, 1, owner).tasks.get()


@pytest.fixture
def whole(origin: Session, owner: Any) -> Task:
    origin.refresh_from_db()
    return forks.fork(origin, origin.last_seq, owner).tasks.get()


def test_pages_show_a_cut_off_copy_as_stopped(cut_off: Task) -> None:
    session = Session.objects.filter(pk=cut_off.session_id).with_newest_task().get()
    assert [str(badge.words) for badge in (task_badge(cut_off), session_badge(session))] == ["Stopped", "Stopped"]
    assert diagnosis.reasons(cut_off)[0].sentence == "The task has ended. This fork has only its beginning."


def test_copies_are_not_counted(cut_off: Task, whole: Task) -> None:
    client = APIClient()
    client.force_authenticate(factories.UserFactory(is_superuser=True))
    figures = client.get("/metrics").content.decode().splitlines()
    assert [line for line in figures if line.startswith("agentsite_tasks{") and not line.endswith(" 0.0")] == [
        'agentsite_tasks{state="failed"} 1.0'
    ]


def test_copies_are_not_announced(
    cut_off: Task, whole: Task, origin: Session, owner: Any, client: Client, mailoutbox: Any
) -> None:
    client.force_login(owner)
    news = client.get("/inbox/news/").json()["news"]
    assert [item["address"] for item in news] == [origin.get_absolute_url()]
    owner.mails, owner.email = ["done", "failed"], "olga@example.org"
    owner.save()
    mails.send_due()
    assert [mail.subject for mail in mailoutbox] == [f"“{origin}” has failed"]


def test_admin_filter_for_failed_tasks_excludes_copies(cut_off: Task, origin: Session, client: Client) -> None:
    client.force_login(factories.UserFactory(is_staff=True, is_superuser=True))
    failed = client.get("/admin/tasks_app/task/?state__exact=failed").content.decode()
    every = client.get("/admin/tasks_app/task/").content.decode()
    assert (str(cut_off.pk)[:8] in failed, str(origin.tasks.get().pk)[:8] in failed) == (False, True)
    assert "forked" in every
