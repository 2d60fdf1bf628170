"""Mails to people when a task of theirs waits, is done or has failed, as each has chosen.

A mail names and links the session but quotes none of its content. Each mail is sent once: the process that updates
`told` sends it, and resets the field if the mail server refuses it.
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
from tasks_app.models.task_state import PERSON_WAITS

logger = logging.getLogger(__name__)
_LATEST = timedelta(hours=1)  # tasks that ended longer ago cause no mail
_OLDEST = timedelta(days=7)  # older tasks are not looked at


def send_due() -> None:
    for task in _tasks_to_report():
        event = f"{task.waiting_for or task.state}:{task.iteration}"  # differs each time that the task waits or ends
        kind = "waiting" if task.waiting_for else "done" if task.state == TaskState.DONE else "failed"
        visible = Session.objects.visible_to(task.started_by).filter(pk=task.session_id)
        if kind not in task.started_by.mails or event == task.told or not visible.exists():
            continue
        if Task.objects.filter(pk=task.pk, told=task.told).update(told=event) and not _send(task, kind):
            Task.objects.filter(pk=task.pk, told=event).update(told=task.told)


def _tasks_to_report() -> QuerySet[Task]:
    """Return waiting and recently ended tasks of people who want mails."""
    now = timezone.now()
    people = get_user_model().objects.filter(is_active=True).exclude(mails=[]).exclude(email="")
    waits_or_has_just_ended = Q(waiting_for__in=PERSON_WAITS) | Q(ended_at__gt=now - _LATEST)
    own = Task.objects.without_copies().filter(started_by__in=people, parent_call=None, created_at__gt=now - _OLDEST)
    return own.filter(waits_or_has_just_ended, terminal="", stopped=False).select_related("started_by", "session")


def _send(task: Task, kind: str) -> bool:
    """Send a mail. Return whether the mail server has taken it."""
    with translation.override(task.started_by.language or settings.LANGUAGE_CODE):
        subject, body = _render(task, kind)
    try:
        send_mail(subject, body, None, [task.started_by.email])
    except (OSError, SMTPException) as error:
        logger.warning("could not send a mail to %s (retrying): %s", task.started_by, error)
        return False
    return True


def _render(task: Task, kind: str) -> tuple[str, str]:
    """Return subject and body."""
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
