"""The files of a session's workspace, and their earlier versions."""

from collections.abc import Iterator
from itertools import islice
from operator import itemgetter
from typing import Any
from uuid import UUID

from django.core.files.uploadedfile import SimpleUploadedFile, UploadedFile
from django.db.models import QuerySet
from django.http import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.generics import GenericAPIView, ListAPIView
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param

from llm_app.redaction import Redactor
from tasks_app.access import visible_session, writable_session
from tasks_app.api.formats import ByNumber, IgnoreAccept, RawBody, SinglePage, validated_query
from tasks_app.api.problems import TooLarge
from tasks_app.models import FileChange
from tasks_app.record import redactor_of
from tasks_app.workspace import uploads
from tasks_app.workspace.downloads import download
from tasks_app.workspace.folders import workspace_of
from tools_app.errors import ToolError
from tools_app.files import Workspace, as_text

MAX_BYTES = 50 * 1024**2  # bytes of an upload
FORM_OVERHEAD = 64 * 1024  # bytes that the parts and headers of a multipart form may add
FORM = {"type": "object", "properties": {"file": {"type": "string", "format": "binary"}}}


PathParts = tuple[str, ...]


class FileSerializer(serializers.Serializer[Any]):
    path = serializers.CharField()
    size = serializers.IntegerField(help_text="Bytes.")


class FileQuery(serializers.Serializer[Any]):
    after = serializers.CharField(default="", max_length=4096, help_text="Only files after this path.")
    limit = serializers.IntegerField(default=200, min_value=1, max_value=1000)


class FileList(GenericAPIView[Any]):
    """All files of the workspace in the order of their paths."""

    serializer_class = FileSerializer
    pagination_class = SinglePage

    @extend_schema(parameters=[FileQuery], responses=FileSerializer(many=True))
    def get(self, request: Request, session_id: UUID) -> Response:
        workspace = workspace_of(visible_session(request.user, session_id))
        query = FileQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        after, limit = query.validated_data["after"], query.validated_data["limit"]
        files = list(islice(files_after(workspace, tuple(after.split("/"))), limit + 1))
        results = [{"path": path, "size": size} for path, size in files[:limit]]
        next_url = None
        if len(files) > limit:
            next_url = replace_query_param(request.build_absolute_uri(), "after", results[-1]["path"])
        return Response({"next": next_url, "previous": None, "results": results})


class File(GenericAPIView[Any]):
    """One file. An upload is the raw body or a form with one file, and replaces what was there."""

    serializer_class = FileSerializer
    parser_classes = (MultiPartParser, RawBody)
    content_negotiation_class = IgnoreAccept

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
        session = writable_session(request.user, session_id)
        file = _uploaded(request)
        try:
            stored_at = uploads.replace(session, path, file)
        except ToolError as error:
            raise ValidationError({"path": [str(error)]}) from error
        return Response({"path": as_text(stored_at), "size": file.size}, 201)


def _uploaded(request: Request) -> UploadedFile:
    """Return the only file of a form, or the entire body.

    Raises TooLarge, and ValidationError unless the form has one file.
    """
    length = int(request.META.get("CONTENT_LENGTH") or 0)
    if length > MAX_BYTES + FORM_OVERHEAD:
        raise _too_large()
    if length == 0:
        return SimpleUploadedFile("body", b"")
    files = list(request.FILES.values())
    if len(files) != 1:
        raise ValidationError({"file": ["Send one file."]})
    file: UploadedFile = files[0]
    if file.size is None or file.size > MAX_BYTES:
        raise _too_large()
    return file


def _too_large() -> TooLarge:
    return TooLarge(f"A file may have at most {MAX_BYTES // 1024**2} MiB.")


def files_after(workspace: Workspace, after: PathParts, folder: PathParts = ()) -> Iterator[tuple[str, int]]:
    """Yield the path and the size in bytes of regular files after the path `after`. Skip links, which reads refuse."""
    try:
        entries = workspace.entries("/".join(folder))
    except ToolError:  # the folder was deleted during the walk, or is nested too deeply
        return
    for name, entry in sorted(((as_text(entry.name), entry) for entry in entries), key=itemgetter(0)):
        parts = (*folder, name)
        if parts < after[: len(parts)]:
            continue
        if entry.kind == "folder":
            yield from files_after(workspace, after, parts)
        elif entry.kind == "file" and parts > after:
            yield "/".join(parts), entry.size


class FileVersionSerializer(serializers.ModelSerializer[FileChange]):
    path = serializers.SerializerMethodField()
    size = serializers.IntegerField(source="before_size", help_text="Bytes.")
    sha256 = serializers.CharField(source="before_sha256")
    task = serializers.UUIDField(source="change.task_id", allow_null=True)
    created_at = serializers.DateTimeField(source="change.created_at")

    class Meta:
        model = FileChange
        fields = ["id", "path", "size", "sha256", "task", "created_at"]
        read_only_fields = fields

    def get_path(self, version: FileChange) -> str:
        return as_text(self.context["redactor"].redacted(version.path))


class VersionQuery(serializers.Serializer[Any]):
    path = serializers.CharField(default="", allow_blank=True, trim_whitespace=False)


class VersionList(ListAPIView[FileChange]):
    """The contents of files before each change, newest first. `?path=` lists the versions of one file."""

    serializer_class = FileVersionSerializer
    pagination_class = ByNumber
    queryset = FileChange.objects.none()

    def get_queryset(self) -> Any:
        session = visible_session(self.request.user, self.kwargs["session_id"])
        rows = FileChange.objects.versions_of(session)
        path = validated_query(VersionQuery, self.request)["path"]
        return rows.filter(path__in=_matching_paths(path, rows, redactor_of(session))) if path else rows

    def get_serializer_context(self) -> dict[str, Any]:
        session = visible_session(self.request.user, self.kwargs["session_id"])
        return {**super().get_serializer_context(), "redactor": redactor_of(session)}


def _matching_paths(path: str, rows: QuerySet[FileChange], redactor: Redactor) -> list[str]:
    """Return the path if it has versions, or else all paths that look like it after redaction."""
    if rows.filter(path=path).exists():
        return [path]
    paths = rows.order_by().values_list("path", flat=True).distinct()
    return [version_path for version_path in paths if as_text(redactor.redacted(version_path)) == path]


class Version(GenericAPIView[Any]):
    serializer_class = FileVersionSerializer
    content_negotiation_class = IgnoreAccept

    @extend_schema(
        operation_id="sessions_versions_download", responses={(200, "application/octet-stream"): OpenApiTypes.BINARY}
    )
    def get(self, request: Request, session_id: UUID, version_id: int) -> HttpResponseBase:
        session = visible_session(request.user, session_id)
        version = FileChange.objects.versions_of(session).filter(pk=version_id).first()
        if version is None or not version.content.exists():
            raise NotFound()
        name = redactor_of(session).redacted(version.path).rpartition("/")[2]
        return download(version.content.open("rb"), name)
