"""Mails to people about their tasks, as each has chosen: one waits, is done, or has failed.

They name the session and lead to it; what stands in it stays there. Each is sent once: whoever sets `told` sends
it, and puts it back where the mail server does not take the mail.
"""

import logging
from datetime import timedelta
from smtplib import SMTPException

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.mail import send_mail
from django.db.models import Q, QuerySet
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from tasks_app.models import Session, Task, TaskState
from tasks_app.models.task_state import PERSON

logger = logging.getLogger(__name__)
_LATEST = timedelta(hours=1)  # what ended before is no news
_OLDEST = timedelta(days=7)  # of tasks that are looked at


def send_due() -> None:
    for task in _news():
        moment, kind = _moment(task), _kind(task)
        seen = Session.objects.visible_to(task.started_by).filter(pk=task.session_id)
        if kind not in task.started_by.mails or moment == task.told or not seen.exists():
            continue
        if Task.objects.filter(pk=task.pk, told=task.told).update(told=moment) and not _is_sent(task, kind):
            Task.objects.filter(pk=task.pk, told=moment).update(told=task.told)


def _news() -> QuerySet[Task]:
    """Of people who want mails: what waits for them, and what has ended just now."""
    now = timezone.now()
    people = get_user_model().objects.filter(is_active=True).exclude(mails=[]).exclude(email="")
    news = Q(waiting_for__in=PERSON) | Q(ended_at__gt=now - _LATEST)
    own = Task.objects.without_copies().filter(started_by__in=people, parent_call=None, created_at__gt=now - _OLDEST)
    return own.filter(news, terminal="", stopped=False).select_related("started_by", "session")


def _moment(task: Task) -> str:
    """Another one for each time that it waits."""
    return f"{task.waiting_for or task.state}:{task.iteration}"


def _kind(task: Task) -> str:
    return "waiting" if task.waiting_for else "done" if task.state == TaskState.DONE else "failed"


def _is_sent(task: Task, kind: str) -> bool:
    with translation.override(task.started_by.language or settings.LANGUAGE_CODE):
        subject, body = _written(task, kind)
    try:
        send_mail(subject, body, None, [task.started_by.email])
    except (OSError, SMTPException) as error:
        logger.warning("a mail to %s was not sent, and is tried again: %s", task.started_by, error)
        return False
    return True


def _written(task: Task, kind: str) -> tuple[str, str]:
    """Subject and body."""
    title = " ".join(str(task.session).split())
    subject = {
        "waiting": _("“{title}” waits for you"),
        "done": _("“{title}” is done"),
        "failed": _("“{title}” has failed"),
    }[kind].format(title=title)
    address = settings.PUBLIC_URL.rstrip("/")
    body = _("{what}:\n{link}\n\nWhich mails you get: {settings}").format(
        what=subject, link=address + task.session.get_absolute_url(), settings=f"{address}/settings/#notifications"
    )
    return subject, body
