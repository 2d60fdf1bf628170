"""Messages to a session."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from tasks_app import services
from tasks_app.api.access import writable_session
from tasks_app.api.fields import Text
from tasks_app.api.idempotency import idempotent
from tasks_app.models import Session, Workflow
from tasks_app.models.inbox import Mode
from tasks_app.workspaces import workspace_of


class MessageSerializer(serializers.Serializer[Any]):
    """`attachments` are paths of files in the workspace."""

    content = Text(allow_blank=True, help_text="At most 1 MiB.")
    attachments = serializers.ListField(child=Text(max_length=4096), default=list, max_length=100)
    mode = serializers.ChoiceField(Mode.choices, default=Mode.INTERJECT)
    workflow = serializers.SlugRelatedField(
        slug_field="name",
        queryset=Workflow.objects.usable(),
        allow_null=True,
        default=None,
        error_messages={"does_not_exist": "There is no workflow called {value}. GET workflows/ lists them."},
        help_text="The name of the workflow that the started task goes through.",
    )
    output_schema = serializers.JSONField(
        allow_null=True, default=None, help_text="JSON Schema that `final_result.data` of the started task must fit."
    )

    def validate_attachments(self, paths: list[str]) -> list[str]:
        workspace = workspace_of(self.context["session"])
        missing = [path for path in paths if not workspace.is_file(path)]
        if missing:
            raise serializers.ValidationError(f"No such file in the workspace: {', '.join(missing)}.")
        return paths


class DeliveredSerializer(serializers.Serializer[Any]):
    """`task` is null for a queued message: its task does not exist yet."""

    task = serializers.UUIDField(source="task.id", allow_null=True, default=None)
    delivered_as = serializers.ChoiceField(["started", "reply", "interjected", "queued"])


class MessageList(GenericAPIView[Session]):
    """Starts a task, answers its question, or reaches the one that runs. 202 means that the message is committed."""

    serializer_class = MessageSerializer

    @extend_schema(operation_id="sessions_messages_send", responses={202: DeliveredSerializer})
    @idempotent
    def post(self, request: Request, session_id: UUID) -> Response:
        session = writable_session(request.user, session_id)
        serializer = MessageSerializer(data=request.data, context={"session": session})
        serializer.is_valid(raise_exception=True)
        names = ("content", "attachments", "mode", "output_schema", "workflow")
        message = {name: serializer.validated_data[name] for name in names}
        delivered = services.post_message(session, request.user, **message)
        return Response(DeliveredSerializer(delivered).data, 202)
