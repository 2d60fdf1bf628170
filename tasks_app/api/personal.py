"""A user's memory notes and secrets. Values of secrets are write-only."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import Http404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.generics import GenericAPIView, ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from llm_app.models import Secret
from tasks_app.access import visible_project, writable_project
from tasks_app.api.formats import NewestFirst, SinglePage, Text
from tasks_app.api.idempotency import idempotent
from tasks_app.memory import edit
from tasks_app.models import MemoryNote, Project
from tasks_app.services import secrets

MAX_LISTED_ENTRIES = 100


class NoteSerializer(serializers.ModelSerializer[MemoryNote]):
    """`team` is true for a note of the whole team; `auto` for one that was captured before a conversation was cut.

    `project` is given for a note that is a project's, written by who may write in it.
    """

    text = Text(max_length=MemoryNote.MAX_LENGTH)
    team = serializers.BooleanField(default=False)
    project = serializers.UUIDField(source="project_id", allow_null=True, default=None)
    session = serializers.UUIDField(source="task.session_id", read_only=True, allow_null=True, default=None)

    class Meta:
        model = MemoryNote
        fields = ["id", "text", "team", "project", "auto", "session", "created_at", "changed_at"]
        read_only_fields = ["auto", "created_at", "changed_at"]


class NoteText(serializers.Serializer[Any]):
    text = Text(max_length=MemoryNote.MAX_LENGTH)


class NoteList(ListAPIView[MemoryNote]):
    """Newest first: one's own and the team's, or with `?project=` a project's. Only administrators write the team's."""

    queryset = MemoryNote.objects.all()
    serializer_class = NoteSerializer
    pagination_class = NewestFirst

    def get_queryset(self) -> QuerySet[MemoryNote]:
        notes = MemoryNote.objects.visible_to(self.request.user)
        if project_id := self.request.query_params.get("project"):
            notes = MemoryNote.objects.filter(project=visible_project(self.request.user, _parse_uuid(project_id)))
        return notes.select_related("task")

    def paginate_queryset(self, queryset: Any) -> Any:
        return edit.redacted_notes(self.request.user, super().paginate_queryset(queryset) or [])

    @extend_schema(parameters=[OpenApiParameter("project", OpenApiTypes.UUID)])
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return super().get(request, *args, **kwargs)

    @extend_schema(responses={201: NoteSerializer})
    @idempotent
    def post(self, request: Request) -> Response:
        serializer = self.get_serializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        data = serializer.validated_data
        project = writable_project(request.user, data["project_id"]) if data["project_id"] else None
        note = edit.add(request.user, data["text"], for_team=data["team"] and not project, project=project)
        return Response(NoteSerializer(note).data, 201)


class NoteDetail(GenericAPIView[MemoryNote]):
    """A note of the team is changed and deleted by administrators, one of a project by who may write in it."""

    queryset = MemoryNote.objects.all()
    serializer_class = NoteSerializer

    @extend_schema(request=NoteText)
    def patch(self, request: Request, note_id: int) -> Response:
        note = _get_editable_note(request.user, note_id)
        serializer = NoteText(data=request.data)
        serializer.is_valid(raise_exception=True)
        note = edit.change(note, request.user, serializer.validated_data["text"])
        return Response(NoteSerializer(note).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, note_id: int) -> Response:
        _get_editable_note(request.user, note_id).delete()
        return Response(status=204)


def _parse_uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as error:
        raise Http404() from error


def _get_editable_note(user: Any, note_id: int) -> MemoryNote:
    """Return the note.

    Raises Http404, or PermissionDenied for a note of the team or of a project in which the user may only read.
    """
    notes = MemoryNote.objects
    note = (notes.visible_to(user) | notes.of_projects(Project.objects.visible_to(user))).filter(pk=note_id).first()
    if note is None:
        raise Http404()
    if note.team and not user.is_staff:
        raise PermissionDenied("Only administrators change the notes of the team.")
    if not notes.editable_by(user).filter(pk=note.pk).exists():
        raise PermissionDenied("You may read the notes of this project, and not change them.")
    return note


class SecretSerializer(serializers.ModelSerializer[Secret]):
    name = Text(help_text="A letter first; digits, dots, dashes and underscores may follow.")
    value = Text(write_only=True)

    class Meta:
        model = Secret
        fields = ["name", "value", "created_at"]


class PlaceSerializer(serializers.Serializer[Any]):
    """An entry of the record that says the value already. It is redacted whenever it is read from now on."""

    session = serializers.UUIDField()
    seq = serializers.IntegerField()


class KeptSerializer(serializers.Serializer[Any]):
    """`found_in` has the newest hundred places, `found` says how many there are."""

    name = serializers.CharField(source="secret.name")
    created_at = serializers.DateTimeField(source="secret.created_at")
    found = serializers.SerializerMethodField()
    found_in = serializers.SerializerMethodField()

    def get_found(self, saved: secrets.SavedSecret) -> int:
        return len(saved.found)

    @extend_schema_field(PlaceSerializer(many=True))
    def get_found_in(self, saved: secrets.SavedSecret) -> Any:
        return PlaceSerializer(saved.found[:MAX_LISTED_ENTRIES], many=True).data


class SecretList(ListAPIView[Secret]):
    """Names only. A name is given once: to change a value, delete the secret first."""

    queryset = Secret.objects.all()
    serializer_class = SecretSerializer
    pagination_class = SinglePage

    def get_queryset(self) -> QuerySet[Secret]:
        return Secret.objects.filter(owner=self.request.user.pk)

    @extend_schema(responses={201: KeptSerializer})
    def post(self, request: Request) -> Response:
        serializer = self.get_serializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        saved = secrets.create(request.user, **serializer.validated_data)
        return Response(KeptSerializer(saved).data, 201)


class SecretDetail(GenericAPIView[Secret]):
    queryset = Secret.objects.all()
    serializer_class = SecretSerializer

    @extend_schema(responses={204: None})
    def delete(self, request: Request, name: str) -> Response:
        if "\0" in name:  # PostgreSQL refuses NUL in a query
            raise Http404()
        deleted, _ = Secret.objects.filter(owner=request.user.pk, name=name).delete()
        if not deleted:
            raise Http404()
        return Response(status=204)
