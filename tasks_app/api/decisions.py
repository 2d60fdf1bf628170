"""Decisions of people: stop, reply to a question, approve or reject. The response is the task or the call."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.generics import GenericAPIView, ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from tasks_app import services
from tasks_app.access import writable_task
from tasks_app.api.authentication import may_approve
from tasks_app.api.formats import MessageBody, Text
from tasks_app.api.idempotency import idempotent
from tasks_app.api.tasks import TaskSerializer
from tasks_app.models import Approval, ApprovalScope, Decision, Task


class ReplySerializer(serializers.Serializer[Any]):
    content = Text(help_text="At most 1 MiB.")


class DecisionSerializer(serializers.Serializer[Any]):
    """`scope: task` also approves later calls of the same tool in this task, for the same reason and commands
    (`covers`), at no higher level.
    """

    decision = serializers.ChoiceField(["approve", "reject"])
    note = Text(
        default="", allow_blank=True, max_length=10_000, help_text="The agent reads it if the call is rejected."
    )
    scope = serializers.ChoiceField(ApprovalScope.choices, default=ApprovalScope.ONCE)

    def validate_decision(self, value: str) -> Decision:
        return Decision.APPROVED if value == "approve" else Decision.REJECTED


def require_approval_right(request: Request) -> None:
    """Raise PermissionDenied for a token without the right to approve, which an agent's programs may hold."""
    if request.auth is not None and not may_approve(request.auth):
        raise PermissionDenied("This token may not approve calls. Sign in, or use one of your tokens that may.")


class Stop(GenericAPIView[Task]):
    """Ends the task, whatever it is doing; answers at once, also when it has ended already."""

    serializer_class = TaskSerializer

    @extend_schema(operation_id="tasks_stop", request=None, responses=TaskSerializer)
    @idempotent
    def post(self, request: Request, task_id: UUID) -> Response:
        task = services.stop(writable_task(request.user, task_id))
        return Response(TaskSerializer(task).data)


class Reply(GenericAPIView[Task]):
    """Answers the question that the task waits with, once; a second answer is 409."""

    serializer_class = ReplySerializer
    parser_classes = (MessageBody,)

    @extend_schema(operation_id="tasks_reply", responses=TaskSerializer)
    @idempotent
    def post(self, request: Request, task_id: UUID) -> Response:
        task = writable_task(request.user, task_id)
        serializer = ReplySerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        services.reply(task, request.user, serializer.validated_data["content"])
        return Response(TaskSerializer(task).data)


class Approve(GenericAPIView[Task]):
    """Decides on the call that waits for approval, once; a second decision is 409."""

    serializer_class = DecisionSerializer

    @extend_schema(operation_id="tasks_approve", responses=TaskSerializer)
    @idempotent
    def post(self, request: Request, task_id: UUID) -> Response:
        task = writable_task(request.user, task_id)
        require_approval_right(request)
        serializer = DecisionSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        services.decide(task, request.user, **serializer.validated_data)
        return Response(TaskSerializer(task).data)


class WaitingCallSerializer(serializers.ModelSerializer[Approval]):
    """`arguments` are the very ones that the tool would run with. `covers` names the commands that an approval for the
    task covers; empty stands for calls of the tool for the same reason.
    """

    task = serializers.UUIDField(source="tool_call.task_id")
    tool = serializers.CharField(source="tool_call.name")
    arguments = serializers.SerializerMethodField()
    danger = serializers.CharField(source="tool_call.danger")
    started_by = serializers.CharField(source="tool_call.task.started_by.username")

    class Meta:
        model = Approval
        fields = [
            *("id", "task", "tool", "arguments", "danger", "reason", "covers", "started_by", "decision"),
            *("created_at", "expires_at"),
        ]
        read_only_fields = fields

    def get_arguments(self, approval: Approval) -> dict[str, Any]:
        return approval.arguments


def _decidable(user: Any) -> QuerySet[Approval]:
    return Approval.objects.decidable_by(user).select_related("tool_call__task__session", "tool_call__task__started_by")


class ApprovalList(ListAPIView[Approval]):
    """The calls on which this user's word counts, newest first."""

    serializer_class = WaitingCallSerializer
    queryset = Approval.objects.all()

    def get_queryset(self) -> Any:
        return _decidable(self.request.user)


class ApprovalDetail(GenericAPIView[Approval]):
    """One of them, and the decision on it, once. For those who may not decide it is 404."""

    serializer_class = WaitingCallSerializer

    def get(self, request: Request, approval_id: int) -> Response:
        return Response(WaitingCallSerializer(self._get_approval(request, approval_id)).data)

    @extend_schema(operation_id="approvals_decide", request=DecisionSerializer, responses=WaitingCallSerializer)
    @idempotent
    def post(self, request: Request, approval_id: int) -> Response:
        require_approval_right(request)
        approval = self._get_approval(request, approval_id)
        serializer = DecisionSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        call = approval.tool_call
        services.decide(call.task, request.user, call_id=call.call_id, **serializer.validated_data)
        approval.refresh_from_db(fields=["decision"])
        return Response(WaitingCallSerializer(approval).data)

    def _get_approval(self, request: Request, approval_id: int) -> Approval:
        approval = _decidable(request.user).filter(pk=approval_id).first()
        if approval is None:
            raise Http404()
        return approval
