"""Changes of the workspace by calls, their diffs, and undo."""

from typing import Any

from django.db.models import QuerySet
from django.http import Http404
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.generics import GenericAPIView, ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from llm_app.redaction import Redactor
from tasks_app.access import visible_session, writable_session
from tasks_app.api.formats import ByNumber, Text
from tasks_app.api.idempotency import KEY, idempotent, stored_response
from tasks_app.models import FileChange, WorkspaceChange
from tasks_app.record import redactor_of
from tasks_app.workspace import file_history
from tools_app.files import as_text

MAX_DIFFS = 200  # of one change


class ChangedPathSerializer(serializers.Serializer[FileChange]):
    path = serializers.CharField()
    action = serializers.ChoiceField(["created", "changed", "deleted"])
    kept = serializers.BooleanField(source="is_kept", help_text="Whether it can be put back.")


class ChangeSerializer(serializers.ModelSerializer[WorkspaceChange]):
    """Without a `call_id`, a person changed the files, or something that ran between two calls."""

    paths = serializers.SerializerMethodField()

    class Meta:
        model = WorkspaceChange
        fields = ["id", "call_id", "tool", "created_at", "paths"]
        read_only_fields = fields

    @extend_schema_field(ChangedPathSerializer(many=True))
    def get_paths(self, change: WorkspaceChange) -> list[dict[str, Any]]:
        return [_path_json(row, self.context["redactor"]) for row in change.files.all()]


class FileDiffSerializer(ChangedPathSerializer):
    diff = serializers.CharField(help_text="Empty where a side is no text, or its content is not kept.")


class DiffSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    diff = serializers.CharField(help_text="Of all files together.")
    paths = FileDiffSerializer(many=True)


class UndoSerializer(serializers.Serializer[Any]):
    """Without `paths`, all files become what they were before this change, also those that only later ones changed."""

    paths = serializers.ListField(child=Text(max_length=4096), required=False, max_length=1000)


class UndoneSerializer(ChangeSerializer):
    """The undo is a change, too, and can be undone. `left` could not be put back."""

    left = serializers.ListField(child=serializers.CharField())

    class Meta(ChangeSerializer.Meta):
        fields = [*ChangeSerializer.Meta.fields, "left"]
        read_only_fields = fields


class ChangeList(ListAPIView[WorkspaceChange]):
    """Newest first."""

    serializer_class = ChangeSerializer
    pagination_class = ByNumber
    queryset = WorkspaceChange.objects.none()

    def get_queryset(self) -> QuerySet[WorkspaceChange]:
        session = visible_session(self.request.user, self.kwargs["session_id"])
        return WorkspaceChange.objects.filter(session=session).prefetch_related("files")

    def get_serializer_context(self) -> dict[str, Any]:
        session = visible_session(self.request.user, self.kwargs["session_id"])
        return {**super().get_serializer_context(), "redactor": redactor_of(session)}


class Diff(GenericAPIView[WorkspaceChange]):
    """A unified diff of each file, with secrets redacted as everywhere."""

    @extend_schema(operation_id="changes_diff", responses=DiffSerializer)
    def get(self, request: Request, change_id: int) -> Response:
        change = _visible_change(request.user, change_id)
        redactor = redactor_of(change.session)
        rows = change.files.select_related("change__session")[:MAX_DIFFS]
        paths = [{**_path_json(row, redactor), "diff": file_history.diff_of(row, redactor)} for row in rows]
        return Response({"id": change.pk, "diff": "\n".join(filter(None, (p["diff"] for p in paths))), "paths": paths})


class Undo(GenericAPIView[WorkspaceChange]):
    """Puts files back to what they were before the change; while a task runs, it answers 409."""

    serializer_class = UndoSerializer

    @extend_schema(operation_id="changes_undo", parameters=[KEY], request=UndoSerializer, responses=UndoneSerializer)
    def post(self, request: Request, change_id: int) -> Response:
        change = _visible_change(request.user, change_id)
        writable_session(request.user, change.session_id)
        if (stored := stored_response(request)) is not None:
            return stored
        serializer = UndoSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        redactor = redactor_of(change.session)
        result = file_history.undo(change, serializer.validated_data.get("paths", ()), redactor)
        return self._stored(request, result, redactor)

    @idempotent
    def _stored(self, request: Request, result: file_history.UndoResult, redactor: Redactor) -> Response:
        unrestored_paths = [as_text(redactor.redacted(path)) for path in result.unrestored]
        change = ChangeSerializer(result.change, context={"redactor": redactor}).data
        return Response({**change, "left": unrestored_paths})


def _visible_change(user: Any, change_id: int) -> WorkspaceChange:
    change = WorkspaceChange.objects.visible_to(user).select_related("session").filter(pk=change_id).first()
    if change is None:
        raise Http404()
    return change


def _path_json(row: FileChange, redactor: Redactor) -> dict[str, Any]:
    return {"path": as_text(redactor.redacted(row.path)), "action": row.action, "kept": row.is_kept}
