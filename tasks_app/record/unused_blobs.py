"""Deletion of the blobs (texts and pictures) of deleted sessions, a day after the session.

Another row may reference the same blob, or be about to. A writer that has saved a blob stores its reference within
that day.
"""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import chain

import orjson
from django.db.models import Q, QuerySet
from django.utils import timezone

from llm_app.models import Blob, LLMLog
from llm_app.stored_prompt import picture_addresses
from tasks_app.models import ContextCut, ContextEntry, InboxMessage, Session

GRACE_PERIOD = timedelta(days=1)
_BATCH_SIZE = 500  # addresses per query
_HAS_PICTURES = '"data": "'  # in saved messages; within their texts, quotes are escaped


def mark_unused(sessions: Sequence[Session]) -> None:
    """Mark the blobs of sessions that are about to be deleted. The logs of their LLM calls stay, without texts, for
    usage.
    """
    logs = LLMLog.objects.filter(session_id__in=[session.pk for session in sessions])
    unique_addresses = {
        *chain.from_iterable(logs.values_list("messages_blob", "compacted_blob")),
        *ContextCut.objects.filter(session__in=sessions).values_list("blob", flat=True),
        *_pictures(Q(session__in=sessions)),
        *_pictures_of_prompts(logs),
    }
    logs.update(system_blob="", tools_blob="", compacted_blob="", messages_blob="", error="")
    addresses = sorted(unique_addresses)  # the same lock order in all processes
    for start in range(0, len(addresses), _BATCH_SIZE):
        Blob.objects.filter(pk__in=addresses[start : start + _BATCH_SIZE]).update(left_at=timezone.now())


def delete_unused() -> None:
    """Delete blobs that were marked a day ago and are not referenced. Works on one batch at a time."""
    due = Blob.objects.filter(left_at__lt=timezone.now() - GRACE_PERIOD)
    addresses = set(due.order_by("left_at").values_list("pk", flat=True)[:_BATCH_SIZE])
    if addresses:
        referenced = {address for address in _referenced(addresses) if address in addresses}
        due.filter(pk__in=referenced).update(left_at=None)
        due.filter(pk__in=addresses - referenced).delete()  # except for blobs saved again since the first query


def _referenced(addresses: set[str]) -> Iterator[str]:
    """Yield referenced addresses: of texts only those among `addresses`, of pictures all that exist."""
    logs = LLMLog.objects.order_by().distinct()
    for name in ("system_blob", "tools_blob", "compacted_blob", "messages_blob"):
        yield from logs.filter(**{f"{name}__in": addresses}).values_list(name, flat=True)
    yield from ContextCut.objects.filter(blob__in=addresses).values_list("blob", flat=True)
    yield from _pictures(Q())
    yield from _pictures_of_prompts(LLMLog.objects.all())


def _pictures(where: Q) -> Iterator[str]:
    """Yield the addresses of pictures. Messages come first: one delivered between the two queries is found as an
    entry.
    """
    messages = InboxMessage.objects.filter(where).exclude(images=[]).order_by().values_list("images", flat=True)
    entries = ContextEntry.objects.filter(where).exclude(images="").order_by().values_list("images", flat=True)
    for pictures in chain(messages.iterator(), map(orjson.loads, entries.iterator())):
        yield from (picture["sha256"] for picture in pictures)


def _pictures_of_prompts(logs: QuerySet[LLMLog]) -> Iterator[str]:
    prompts = logs.exclude(messages_blob="").order_by().values("messages_blob")
    texts = Blob.objects.filter(pk__in=prompts, content__contains=_HAS_PICTURES).values_list("content", flat=True)
    return chain.from_iterable(map(picture_addresses, texts.iterator()))
