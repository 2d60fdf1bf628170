"""Sessions as files, out and in."""

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from tasks_app.access import visible_session
from tasks_app.api.formats import AsItIs, RawBody
from tasks_app.api.idempotency import idempotent
from tasks_app.api.problems import TooLarge
from tasks_app.downloads import text_download
from tasks_app.models import Session
from tasks_app.services import transfer
from tasks_app.text.foreign_chats import MOST_BYTES


class ExportQuery(serializers.Serializer[Any]):
    kind = serializers.ChoiceField(["markdown", "json"], default="json")


class Export(GenericAPIView[Session]):
    """A session as Markdown, or as JSON that another server can import. Secrets are redacted in it."""

    serializer_class = ExportQuery
    content_negotiation_class = AsItIs

    @extend_schema(parameters=[ExportQuery], responses={(200, "application/octet-stream"): OpenApiTypes.BINARY})
    def get(self, request: Request, session_id: UUID) -> HttpResponse:
        session, query = visible_session(request.user, session_id), ExportQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        return text_download(*transfer.exported(session, query.validated_data["kind"]))


class ImportedSerializer(serializers.Serializer[Any]):
    sessions = serializers.ListField(child=serializers.UUIDField())
    left_out = serializers.IntegerField(help_text="Older conversations of the file, too many for one import.")


class Import(GenericAPIView[Session]):
    """A session for each conversation of a file: an export of ChatGPT (also the archive), Open WebUI, LibreChat or
    agentsite, as the raw body. They are entries of the type `client_history`.
    """

    serializer_class = ImportedSerializer
    parser_classes = (RawBody,)

    @extend_schema(request={"application/octet-stream": OpenApiTypes.BINARY}, responses={201: ImportedSerializer})
    @idempotent
    def post(self, request: Request) -> Response:
        if int(request.META.get("CONTENT_LENGTH") or 0) > MOST_BYTES:
            raise TooLarge(f"A file may have at most {MOST_BYTES // 1024**2} MiB.")
        files = list(request.FILES.values())
        imported = transfer.import_sessions(request.user, files[0].read() if files else b"")
        return Response({"sessions": [one.pk for one in imported.sessions], "left_out": imported.left_out}, 201)
