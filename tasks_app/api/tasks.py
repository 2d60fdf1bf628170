"""Tasks."""

from typing import Any
from uuid import UUID

import orjson
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.generics import GenericAPIView, ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from tasks_app.api.access import visible_task
from tasks_app.api.entries import ToolCallSerializer
from tasks_app.interaction.open_call import pending_json
from tasks_app.models import Task, TaskState
from tasks_app.models.task import FailureCode, WaitingFor


class PendingSerializer(ToolCallSerializer):
    """The open tool call that waits for a person. A question has `text` and `options`, an approval `danger`."""

    kind = serializers.ChoiceField(WaitingFor.choices)
    reason = serializers.CharField()
    text = serializers.CharField(allow_null=True)
    options = serializers.ListField(child=serializers.CharField(), allow_null=True)
    danger = serializers.CharField(allow_null=True)


class FailureSerializer(serializers.Serializer[Any]):
    """`detail` is one sentence: what happened, and what to do."""

    code = serializers.ChoiceField(FailureCode.choices)
    detail = serializers.CharField()


class UsageSerializer(serializers.Serializer[Any]):
    """Tokens. `input_tokens` contains the cached ones, `output_tokens` those of thinking."""

    input_tokens = serializers.IntegerField()
    cached_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    thinking_tokens = serializers.IntegerField()


class FinalResultSerializer(serializers.Serializer[Any]):
    text = serializers.CharField()
    data = serializers.JSONField(allow_null=True)  # type: ignore[assignment]  # DRF takes fields off the class
    attachments = serializers.ListField(child=serializers.CharField())
    suggestions = serializers.ListField(child=serializers.CharField())


class PlanStepSerializer(serializers.Serializer[Any]):
    title = serializers.CharField()
    status = serializers.CharField()


class TaskSerializer(serializers.ModelSerializer[Task]):
    """`cost_usd` is null where no price is known."""

    session = serializers.UUIDField(source="session_id")
    failure = serializers.SerializerMethodField()
    pending = serializers.SerializerMethodField()
    workflow = serializers.CharField(source="workflow.name", default=None, allow_null=True)
    plan = PlanStepSerializer(many=True)
    usage = UsageSerializer()
    cost_usd = serializers.FloatField(allow_null=True)
    output_schema = serializers.SerializerMethodField()
    final_result = FinalResultSerializer(allow_null=True)

    class Meta:
        model = Task
        fields = [
            *("id", "session", "state", "waiting_for", "failure", "stopped", "iteration", "pending"),
            *("workflow", "plan", "usage", "cost_usd", "output_schema", "final_result", "created_at", "ended_at"),
        ]
        read_only_fields = fields

    @extend_schema_field(FailureSerializer(allow_null=True))
    def get_failure(self, task: Task) -> dict[str, str] | None:
        return {"code": task.failure_code, "detail": task.failure_detail} if task.failure_code else None

    @extend_schema_field(serializers.JSONField(allow_null=True))
    def get_output_schema(self, task: Task) -> Any:
        return orjson.loads(task.output_schema) if task.output_schema else None

    @extend_schema_field(PendingSerializer(allow_null=True))
    def get_pending(self, task: Task) -> dict[str, Any] | None:
        return pending_json(task)


class TaskQuery(serializers.Serializer[Any]):
    session = serializers.UUIDField(required=False)
    state = serializers.ChoiceField(TaskState.choices, required=False)


class TaskList(ListAPIView[Task]):
    """The tasks of all sessions that the user may see, newest first."""

    queryset = Task.objects.all()
    serializer_class = TaskSerializer

    def get_queryset(self) -> QuerySet[Task]:
        query = TaskQuery(data=self.request.query_params)
        query.is_valid(raise_exception=True)
        return Task.objects.visible_to(self.request.user).filter(**query.validated_data)

    @extend_schema(parameters=[TaskQuery])
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return super().get(request, *args, **kwargs)


class TaskDetail(GenericAPIView[Task]):
    serializer_class = TaskSerializer

    def get(self, request: Request, task_id: UUID) -> Response:
        return Response(self.get_serializer(visible_task(request.user, task_id)).data)
