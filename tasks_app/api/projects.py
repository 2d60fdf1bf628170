"""Projects and the files of their libraries."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import Http404, HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.generics import GenericAPIView, ListAPIView, ListCreateAPIView
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from tasks_app import services
from tasks_app.access import owned_project, visible_project, writable_project
from tasks_app.api.files import FORM
from tasks_app.api.formats import ByNumber, IgnoreAccept, NewestFirst, Text
from tasks_app.api.idempotency import idempotent
from tasks_app.api.sessions import AgentName
from tasks_app.models import Agent, LibraryFile, Project
from tasks_app.services import library
from tasks_app.services.projects import redacted
from tasks_app.workspace.downloads import download


class ProjectSerializer(serializers.ModelSerializer[Project]):
    """`agent` is the name of the one with whom sessions begin where no other is chosen; null for the default one."""

    name = Text(max_length=100)
    instructions = Text(required=False, allow_blank=True, max_length=Project.MAX_INSTRUCTIONS)
    agent: Any = AgentName(slug_field="name", queryset=Agent.objects.all(), required=False, allow_null=True)
    owner: Any = serializers.SlugRelatedField(slug_field="username", read_only=True)

    class Meta:
        model = Project
        fields = ["id", "name", "instructions", "agent", "owner", "created_at", "changed_at"]

    def to_representation(self, instance: Project) -> Any:
        """Return the project with redacted texts, because a value in them may have become a secret later."""
        project = super().to_representation(instance)
        return project | {name: redacted(instance, project[name]) for name in ("name", "instructions")}


class ProjectList(ListCreateAPIView[Project]):
    """One's own, and those that one is a member of, newest first."""

    queryset = Project.objects.all()
    serializer_class = ProjectSerializer
    pagination_class = NewestFirst

    def get_queryset(self) -> QuerySet[Project]:
        return Project.objects.visible_to(self.request.user).select_related("owner", "agent")

    @idempotent
    def post(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return super().post(request, *args, **kwargs)

    def perform_create(self, serializer: serializers.BaseSerializer[Project]) -> None:
        serializer.instance = services.create_project(self.request.user, **serializer.validated_data)


class ProjectDetail(GenericAPIView[Project]):
    """Members who can write change a project; only its owner deletes it. Its sessions stay with their owners."""

    queryset = Project.objects.all()
    serializer_class = ProjectSerializer

    def get(self, request: Request, project_id: UUID) -> Response:
        return Response(self.get_serializer(visible_project(request.user, project_id)).data)

    def patch(self, request: Request, project_id: UUID) -> Response:
        project = writable_project(request.user, project_id)
        serializer = self.get_serializer(project, data=request.data, partial=True)
        serializer.is_valid(raise_exception=True)
        services.change_project(project, **serializer.validated_data)
        return Response(self.get_serializer(project).data)

    def delete(self, request: Request, project_id: UUID) -> Response:
        services.delete_project(owned_project(request.user, project_id))
        return Response(status=204)


class LibraryFileSerializer(serializers.ModelSerializer[LibraryFile]):
    """`state`: waiting, reading (`pages_read` of `count` so far), ready, or failed for the reason `problem`."""

    state = serializers.CharField(read_only=True)

    class Meta:
        model = LibraryFile
        fields = ["id", "name", "size", "state", "problem", "unit", "count", "pages_read", "created_at"]
        read_only_fields = fields


class Library(ListAPIView[LibraryFile]):
    """The files that the tool `library` searches, newest first. They are read in the background."""

    queryset = LibraryFile.objects.none()
    serializer_class = LibraryFileSerializer
    pagination_class = ByNumber
    parser_classes = (MultiPartParser,)

    def get_queryset(self) -> QuerySet[LibraryFile]:
        return LibraryFile.objects.of_project(visible_project(self.request.user, self.kwargs["project_id"]))

    @extend_schema(
        request={"multipart/form-data": FORM}, responses={201: LibraryFileSerializer(many=True)}, filters=False
    )
    @idempotent
    def post(self, request: Request, project_id: UUID) -> Response:
        project = writable_project(request.user, project_id)
        files = [file for name in request.FILES for file in request.FILES.getlist(name)]
        if not files:
            raise serializers.ValidationError({"file": ["Send a form with files."]})
        return Response(LibraryFileSerializer(library.add_files(project, request.user, files), many=True).data, 201)


class LibraryDetail(GenericAPIView[LibraryFile]):
    """One file, as it was brought."""

    queryset = LibraryFile.objects.none()
    serializer_class = LibraryFileSerializer
    content_negotiation_class = IgnoreAccept

    @extend_schema(
        operation_id="projects_library_download", responses={(200, "application/octet-stream"): OpenApiTypes.BINARY}
    )
    def get(self, request: Request, project_id: UUID, file_id: int) -> HttpResponseBase:
        file = _file(visible_project(request.user, project_id), file_id)
        try:
            return download(file.open(), file.name)
        except OSError as error:
            raise NotFound() from error

    @extend_schema(responses={204: None})
    def delete(self, request: Request, project_id: UUID, file_id: int) -> Response:
        library.delete_file(_file(writable_project(request.user, project_id), file_id))
        return Response(status=204)


def _file(project: Project, file_id: int) -> LibraryFile:
    file = LibraryFile.objects.of_project(project).filter(pk=file_id).first()
    if file is None:
        raise Http404()
    return file
