"""A session out of another one."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from tasks_app.api.access import visible_task
from tasks_app.api.fields import MOST_ROWS
from tasks_app.api.idempotency import KEY, earlier_answer, idempotent
from tasks_app.api.sessions import SessionSerializer, row
from tasks_app.models import Session, Task
from tasks_app.services import forks


class ForkSerializer(serializers.Serializer[Any]):
    seq = serializers.IntegerField(
        min_value=1, max_value=MOST_ROWS, help_text="The last entry that is copied, of the task's session."
    )


class Fork(GenericAPIView[Task]):
    """A new session of the user's own with the record up to an entry, and the files as they are now.

    Nothing of the origin changes. Of a turn that is cut off, the open call gets the result "Not run: forked here."
    """

    serializer_class = ForkSerializer

    @extend_schema(operation_id="tasks_fork", parameters=[KEY], responses={201: SessionSerializer})
    def post(self, request: Request, task_id: UUID) -> Response:
        task = visible_task(request.user, task_id)
        if (earlier := earlier_answer(request)) is not None:
            return earlier
        serializer = ForkSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        with forks.prepared(task.session, serializer.validated_data["seq"], request.user) as store:
            return self._stored(request, store)

    @idempotent
    def _stored(self, request: Request, store: Callable[[], Session]) -> Response:
        return Response(SessionSerializer(row(store()), context={"request": request}).data, 201)
