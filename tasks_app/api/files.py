"""The files of a session's workspace."""

from itertools import islice
from typing import Any
from uuid import UUID

from django.http import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.generics import GenericAPIView
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param

from tasks_app.api.access import visible_session, writable_session
from tasks_app.api.file_tree import files_after
from tasks_app.api.formats import RawBody
from tasks_app.api.negotiation import AsItIs
from tasks_app.api.pagination import Whole
from tasks_app.api.problems import TooLarge
from tasks_app.downloads import download
from tasks_app.workspaces import workspace_of
from tools_app.errors import ToolError

LARGEST = 50 * 1024**2  # bytes of an upload
AROUND = 64 * 1024  # bytes that a multipart form may add
FORM = {"type": "object", "properties": {"file": {"type": "string", "format": "binary"}}}


class FileSerializer(serializers.Serializer[Any]):
    path = serializers.CharField()
    size = serializers.IntegerField(help_text="Bytes.")


class FileQuery(serializers.Serializer[Any]):
    after = serializers.CharField(default="", max_length=4096, help_text="Only files behind this path.")
    limit = serializers.IntegerField(default=200, min_value=1, max_value=1000)


class FileList(GenericAPIView[Any]):
    """All files of the workspace in the order of their paths."""

    serializer_class = FileSerializer
    pagination_class = Whole

    @extend_schema(parameters=[FileQuery], responses=FileSerializer(many=True))
    def get(self, request: Request, session_id: UUID) -> Response:
        workspace = workspace_of(visible_session(request.user, session_id))
        query = FileQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        after, limit = query.validated_data["after"], query.validated_data["limit"]
        found = list(islice(files_after(workspace, tuple(after.split("/"))), limit + 1))
        files = [{"path": path, "size": size} for path, size in found[:limit]]
        following = None
        if len(found) > limit:
            following = replace_query_param(request.build_absolute_uri(), "after", files[-1]["path"])
        return Response({"next": following, "previous": None, "results": files})


class File(GenericAPIView[Any]):
    """One file. An upload is the raw body or a form with one file, and replaces what was there."""

    serializer_class = FileSerializer
    parser_classes = (MultiPartParser, RawBody)
    content_negotiation_class = AsItIs

    @extend_schema(
        operation_id="sessions_files_download", responses={(200, "application/octet-stream"): OpenApiTypes.BINARY}
    )
    def get(self, request: Request, session_id: UUID, path: str) -> HttpResponseBase:
        workspace = workspace_of(visible_session(request.user, session_id))
        try:
            file = workspace.open_for_read(path)
        except ToolError as error:
            raise NotFound(str(error)) from error
        return download(file, path.rsplit("/", 1)[-1])

    @extend_schema(
        operation_id="sessions_files_upload",
        request={"application/octet-stream": OpenApiTypes.BINARY, "multipart/form-data": FORM},
        responses={201: FileSerializer},
    )
    def post(self, request: Request, session_id: UUID, path: str) -> Response:
        workspace = workspace_of(writable_session(request.user, session_id))
        data = _uploaded(request)
        try:
            workspace.write_bytes(path, data)
        except ToolError as error:
            raise ValidationError({"path": [str(error)]}) from error
        return Response({"path": path, "size": len(data)}, 201)


def _uploaded(request: Request) -> bytes:
    """The one file of a form, or the whole body. Raises TooLarge and ValidationError."""
    length = int(request.META.get("CONTENT_LENGTH") or 0)
    if length > LARGEST + AROUND:
        raise _too_large()
    if length == 0:
        return b""
    files = list(request.FILES.values())
    if len(files) != 1:
        raise ValidationError({"file": ["Send one file."]})
    data: bytes = files[0].read(LARGEST + 1)
    if len(data) > LARGEST:
        raise _too_large()
    return data


def _too_large() -> TooLarge:
    return TooLarge(f"A file has at most {LARGEST // 1024**2} MiB.")
