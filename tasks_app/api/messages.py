"""Messages to a session's tasks, and the waiting messages, which can be changed and removed."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import GenericAPIView, ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from tasks_app import services
from tasks_app.access import visible_session, writable_session
from tasks_app.api.formats import MessageBody, OldestFirst, Text
from tasks_app.api.idempotency import KEY, idempotent, stored_response
from tasks_app.models import InboxMessage, Mode, Session, Workflow
from tasks_app.record import images, redactor_of
from tasks_app.services import servers
from tasks_app.workspace.folders import workspace_of


class WorkflowName(serializers.SlugRelatedField[Workflow]):
    default_error_messages = {"does_not_exist": "There is no workflow called {value}. GET workflows/ lists them."}

    def to_internal_value(self, data: Any) -> Workflow:
        if not isinstance(data, str) or "\0" in data:
            self.fail("invalid")
        return super().to_internal_value(data)


class MessageSerializer(serializers.Serializer[Any]):
    """`attachments` are paths of files in the workspace."""

    content = Text(allow_blank=True, help_text="At most 1 MiB.")
    attachments = serializers.ListField(child=Text(max_length=4096), default=list, max_length=100)
    mode = serializers.ChoiceField(Mode.choices, default=Mode.INTERJECT)
    workflow = WorkflowName(
        slug_field="name",
        queryset=Workflow.objects.usable(),
        allow_null=True,
        default=None,
        help_text="The name of the workflow that the started task follows.",
    )
    output_schema = serializers.JSONField(
        allow_null=True, default=None, help_text="JSON Schema that `final_result.data` of the started task must match."
    )

    def validate_attachments(self, paths: list[str]) -> list[str]:
        if not paths:
            return []
        workspace = workspace_of(self.context["session"])
        missing = [path for path in paths if not workspace.is_file(path)]
        if missing:
            raise serializers.ValidationError(f"No such file in the workspace: {', '.join(missing)}.")
        return paths


class DeliveredSerializer(serializers.Serializer[Any]):
    """`task` is null for a queued message: its task does not exist yet."""

    task = serializers.UUIDField(source="task.id", allow_null=True, default=None)
    delivered_as = serializers.ChoiceField(["started", "reply", "interjected", "steered", "queued"])


class WaitingMessageSerializer(serializers.ModelSerializer[InboxMessage]):
    author = serializers.CharField(source="author.username")
    content = serializers.SerializerMethodField()

    class Meta:
        model = InboxMessage
        fields = ["id", "author", "mode", "content", "attachments", "created_at"]
        read_only_fields = fields

    def get_content(self, message: InboxMessage) -> str:
        return redactor_of(message.session).redacted(message.content)


class MessageList(ListAPIView[InboxMessage]):
    """The messages that wait for their turn, the first to come first."""

    serializer_class = WaitingMessageSerializer
    parser_classes = (MessageBody,)
    pagination_class = OldestFirst
    queryset = InboxMessage.objects.all()

    def get_queryset(self) -> QuerySet[InboxMessage]:
        session = visible_session(self.request.user, self.kwargs["session_id"])
        return InboxMessage.objects.waiting_in(session).select_related("author", "session")

    @extend_schema(
        operation_id="sessions_messages_send",
        parameters=[KEY],
        request=MessageSerializer,
        responses={202: DeliveredSerializer},
    )
    def post(self, request: Request, session_id: UUID) -> Response:
        """Starts a task, answers its question, or reaches the one that runs. 202 means that it is committed."""
        session = writable_session(request.user, session_id)
        if (stored := stored_response(request)) is not None:
            return stored
        serializer = MessageSerializer(data=request.data, context={"session": session})
        serializer.is_valid(raise_exception=True)
        names = ("content", "attachments", "mode", "output_schema", "workflow")
        message = {name: serializer.validated_data[name] for name in names}
        message["pictures"] = images.store_attachments(workspace_of(session), message["attachments"])
        return self._deliver(request, session, message)

    @idempotent
    def _deliver(self, request: Request, session: Session, message: dict[str, Any]) -> Response:
        delivered = services.post_message(session, request.user, **message)
        return Response(DeliveredSerializer(delivered).data, 202)


class ServerStart(GenericAPIView[Session]):
    """Asks the agent to run the background command again that served this port. 409 if none is recorded."""

    serializer_class = DeliveredSerializer

    @extend_schema(operation_id="sessions_ports_start", request=None, responses={202: DeliveredSerializer})
    @idempotent
    def post(self, request: Request, session_id: UUID, port: int) -> Response:
        delivered = servers.start_again(writable_session(request.user, session_id), request.user, port)
        return Response(DeliveredSerializer(delivered).data, 202)


class NewWordsSerializer(serializers.Serializer[Any]):
    content = Text(allow_blank=True, help_text="At most 1 MiB.")


class WaitingMessage(GenericAPIView[Session]):
    """One's own message that waits: other words for it, or its removal. 409 once the agent has it."""

    serializer_class = NewWordsSerializer
    parser_classes = (MessageBody,)

    @extend_schema(operation_id="sessions_messages_change", responses=WaitingMessageSerializer)
    def patch(self, request: Request, session_id: UUID, message_id: int) -> Response:
        session = writable_session(request.user, session_id)
        serializer = NewWordsSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        services.change_message(session, request.user, message_id, serializer.validated_data["content"])
        return Response(WaitingMessageSerializer(InboxMessage.objects.get(pk=message_id)).data)

    @extend_schema(operation_id="sessions_messages_remove", request=None, responses={204: None})
    def delete(self, request: Request, session_id: UUID, message_id: int) -> Response:
        services.delete_message(writable_session(request.user, session_id), request.user, message_id)
        return Response(status=204)
