"""What files of the workspace held before the agent overwrote or deleted them."""

from typing import Any
from uuid import UUID

from django.http import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.generics import GenericAPIView, ListAPIView
from rest_framework.request import Request

from tasks_app.api.access import visible_session
from tasks_app.api.negotiation import AsItIs
from tasks_app.api.pagination import NewestFirst
from tasks_app.downloads import download
from tasks_app.models import FileVersion


class FileVersionSerializer(serializers.ModelSerializer[FileVersion]):
    class Meta:
        model = FileVersion
        fields = ["id", "path", "size", "sha256", "task", "created_at"]
        read_only_fields = fields


class VersionList(ListAPIView[FileVersion]):
    """Newest first; `?path=` gives those of one file."""

    serializer_class = FileVersionSerializer
    pagination_class = NewestFirst
    queryset = FileVersion.objects.none()

    def get_queryset(self) -> Any:
        session = visible_session(self.request.user, self.kwargs["session_id"])
        rows = FileVersion.objects.filter(session=session)
        path = self.request.query_params.get("path")
        return rows.filter(path=path) if path else rows


class Version(GenericAPIView[Any]):
    serializer_class = FileVersionSerializer
    content_negotiation_class = AsItIs

    @extend_schema(
        operation_id="sessions_versions_download", responses={(200, "application/octet-stream"): OpenApiTypes.BINARY}
    )
    def get(self, request: Request, session_id: UUID, version_id: int) -> HttpResponseBase:
        session = visible_session(request.user, session_id)
        version = FileVersion.objects.filter(session=session, pk=version_id).first()
        if version is None or not version.content.exists():
            raise NotFound()
        return download(version.content.open("rb"), version.path.rpartition("/")[2])
