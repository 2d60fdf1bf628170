"""Export and import of sessions as files, and forks."""

from collections.abc import Callable
from io import BytesIO
from typing import IO, Any, cast
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from tasks_app.access import visible_session, visible_task
from tasks_app.api import session_rows
from tasks_app.api.formats import MAX_SEQ, IgnoreAccept, RawBody
from tasks_app.api.idempotency import KEY, idempotent, stored_response
from tasks_app.api.problems import TooLarge
from tasks_app.api.sessions import SessionSerializer
from tasks_app.models import Session, Task
from tasks_app.services import forks, transfer
from tasks_app.text.foreign_chats import MOST_BYTES
from tasks_app.workspace.downloads import text_download


class ExportQuery(serializers.Serializer[Any]):
    kind = serializers.ChoiceField(["markdown", "json"], default="json")


class Export(GenericAPIView[Session]):
    """A session as Markdown, or as JSON that another server can import. Secrets are redacted in it."""

    serializer_class = ExportQuery
    content_negotiation_class = IgnoreAccept

    @extend_schema(parameters=[ExportQuery], responses={(200, "application/octet-stream"): OpenApiTypes.BINARY})
    def get(self, request: Request, session_id: UUID) -> HttpResponse:
        session, query = visible_session(request.user, session_id), ExportQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        return text_download(*transfer.export(session, query.validated_data["kind"]))


class ImportedSerializer(serializers.Serializer[Any]):
    sessions = serializers.ListField(child=serializers.UUIDField())
    left_out = serializers.IntegerField(help_text="Older conversations of the file, too many for one import.")


class Import(GenericAPIView[Session]):
    """A session for each conversation of a file: an export of ChatGPT (also the archive), Open WebUI, LibreChat or
    agentsite, as the raw body. They are entries of the type `client_history`.
    """

    serializer_class = ImportedSerializer
    parser_classes = (RawBody,)

    @extend_schema(
        parameters=[KEY],
        request={"application/octet-stream": OpenApiTypes.BINARY},
        responses={201: ImportedSerializer},
    )
    def post(self, request: Request) -> Response:
        if int(request.META.get("CONTENT_LENGTH") or 0) > MOST_BYTES:
            raise TooLarge(f"A file may have at most {MOST_BYTES // 1024**2} MiB.")
        if (stored := stored_response(request)) is not None:
            return stored
        file = next(iter(request.FILES.values()), None)
        with transfer.prepared_import(request.user, cast(IO[bytes], file or BytesIO())) as store:
            return self._stored(request, store)

    @idempotent
    def _stored(self, request: Request, store: Callable[[], transfer.Imported]) -> Response:
        imported = store()
        return Response({"sessions": [session.pk for session in imported.sessions], "left_out": imported.left_out}, 201)


class ForkSerializer(serializers.Serializer[Any]):
    seq = serializers.IntegerField(
        min_value=1, max_value=MAX_SEQ, help_text="The last entry of the task's session to be copied."
    )


class Fork(GenericAPIView[Task]):
    """A new session of the user's own with the record up to an entry, and the files as they are now.

    Nothing of the origin changes. Of a turn that is cut off, the open call gets the result "Not run: forked here."
    """

    serializer_class = ForkSerializer

    @extend_schema(operation_id="tasks_fork", parameters=[KEY], responses={201: SessionSerializer})
    def post(self, request: Request, task_id: UUID) -> Response:
        task = visible_task(request.user, task_id)
        if (stored := stored_response(request)) is not None:
            return stored
        serializer = ForkSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        with forks.prepare(task.session, serializer.validated_data["seq"], request.user) as store:
            return self._stored(request, store)

    @idempotent
    def _stored(self, request: Request, store: Callable[[], Session]) -> Response:
        return Response(session_rows.as_json(session_rows.row_of(store(), request.user)), 201)
