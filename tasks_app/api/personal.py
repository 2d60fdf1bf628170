"""What is remembered: the user's own notes, and the team's."""

from typing import Any

from django.db.models import QuerySet
from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.generics import GenericAPIView, ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from tasks_app.api.fields import Text
from tasks_app.api.idempotency import idempotent
from tasks_app.api.pagination import NewestFirst
from tasks_app.memory import edit
from tasks_app.models import MemoryNote


class NoteSerializer(serializers.ModelSerializer[MemoryNote]):
    """`team` is true for a note of the whole team; `auto` for one that was captured before a conversation was cut."""

    text = Text(max_length=MemoryNote.LONGEST)
    team = serializers.BooleanField(default=False)
    session = serializers.UUIDField(source="task.session_id", read_only=True, allow_null=True, default=None)

    class Meta:
        model = MemoryNote
        fields = ["id", "text", "team", "auto", "session", "created_at", "changed_at"]
        read_only_fields = ["auto", "created_at", "changed_at"]


class NoteText(serializers.Serializer[Any]):
    text = Text(max_length=MemoryNote.LONGEST)


class NoteList(ListAPIView[MemoryNote]):
    """Newest first. Only administrators may write a note for the team."""

    queryset = MemoryNote.objects.all()
    serializer_class = NoteSerializer
    pagination_class = NewestFirst

    def get_queryset(self) -> QuerySet[MemoryNote]:
        return MemoryNote.objects.visible_to(self.request.user).select_related("task")

    def paginate_queryset(self, queryset: Any) -> Any:
        return edit.shown(self.request.user, super().paginate_queryset(queryset) or [])

    @extend_schema(responses={201: NoteSerializer})
    @idempotent
    def post(self, request: Request) -> Response:
        serializer = self.get_serializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        given = serializer.validated_data
        note = edit.add(request.user, given["text"], for_team=given["team"])
        return Response(NoteSerializer(note).data, 201)


class NoteDetail(GenericAPIView[MemoryNote]):
    """A note of the team is changed and deleted by administrators."""

    queryset = MemoryNote.objects.all()
    serializer_class = NoteSerializer

    @extend_schema(request=NoteText)
    def patch(self, request: Request, note_id: int) -> Response:
        note, given = _editable(request.user, note_id), NoteText(data=request.data)
        given.is_valid(raise_exception=True)
        return Response(NoteSerializer(edit.change(note, request.user, given.validated_data["text"])).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, note_id: int) -> Response:
        _editable(request.user, note_id).delete()
        return Response(status=204)


def _editable(user: Any, note_id: int) -> MemoryNote:
    """Raises Http404, and PermissionDenied for a note of the team."""
    note = MemoryNote.objects.visible_to(user).filter(pk=note_id).first()
    if note is None:
        raise Http404()
    if note.owner_id is None and not user.is_staff:
        raise PermissionDenied("Only administrators change the notes of the team.")
    return note
