"""Calls that wait for this user's approval; of a session that they may not see, the call is all they get."""

from typing import Any

from django.db.models import QuerySet
from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import GenericAPIView, ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from tasks_app import services
from tasks_app.api.decisions import DecisionSerializer, require_may_approve
from tasks_app.api.idempotency import idempotent
from tasks_app.models import Approval


class WaitingCallSerializer(serializers.ModelSerializer[Approval]):
    """`arguments` are the very ones that the tool would run with."""

    task = serializers.UUIDField(source="tool_call.task_id")
    tool = serializers.CharField(source="tool_call.name")
    arguments = serializers.SerializerMethodField()
    danger = serializers.CharField(source="tool_call.danger")
    started_by = serializers.CharField(source="tool_call.task.started_by.username")

    class Meta:
        model = Approval
        fields = [
            *("id", "task", "tool", "arguments", "danger", "reason", "started_by", "decision", "created_at"),
            "expires_at",
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

    def get_queryset(self) -> QuerySet[Approval]:
        return _decidable(self.request.user)


class ApprovalDetail(GenericAPIView[Approval]):
    """One of them, and the word on it, once. Whoever may not decide finds nothing here."""

    serializer_class = WaitingCallSerializer

    def get(self, request: Request, approval_id: int) -> Response:
        return Response(WaitingCallSerializer(self._found(request, approval_id)).data)

    @extend_schema(operation_id="approvals_decide", request=DecisionSerializer, responses=WaitingCallSerializer)
    @idempotent
    def post(self, request: Request, approval_id: int) -> Response:
        require_may_approve(request)
        approval = self._found(request, approval_id)
        word = DecisionSerializer(data=request.data)
        word.is_valid(raise_exception=True)
        call = approval.tool_call
        services.decide(call.task, request.user, call_id=call.call_id, **word.validated_data)
        approval.refresh_from_db(fields=["decision"])
        return Response(WaitingCallSerializer(approval).data)

    def _found(self, request: Request, approval_id: int) -> Approval:
        found = _decidable(request.user).filter(pk=approval_id).first()
        if found is None:
            raise Http404()
        return found
