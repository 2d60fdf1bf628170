"""Tasks: how they stand, and what they wait for."""

from collections.abc import Sequence
from functools import partial
from typing import Any
from uuid import UUID

import orjson
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.generics import GenericAPIView, ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from llm_app.composed_query import Select
from tasks_app.access import is_visible, visible_task
from tasks_app.api.authentication import admission_of
from tasks_app.api.entries import ToolCallSerializer
from tasks_app.interaction.open_call import pending_json
from tasks_app.live.subscription import StateChange
from tasks_app.models import PERSON, FailureCode, Task, TaskState
from tasks_app.runtime import admission

MOST_SECONDS = 60  # that somebody waits with one request: proxies end longer ones


class PendingSerializer(ToolCallSerializer):
    """The open tool call that waits for a person. A question has `text` and `options`, an approval `danger`."""

    kind = serializers.ChoiceField([kind.value for kind in PERSON])
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


class AgentVersionSerializer(serializers.Serializer[Any]):
    """The agent's name as it was then, and the number of its version."""

    name = serializers.CharField()
    version = serializers.IntegerField(source="number")


class TaskSerializer(serializers.ModelSerializer[Task]):
    """`agent` is that of its beginning, null for the agent as it ships: `llm-calls/` has that of each step. `cost_usd`
    is null where no price is known.
    """

    session = serializers.UUIDField(source="session_id")
    agent = AgentVersionSerializer(source="agent_version", allow_null=True)
    parent: Any = serializers.UUIDField(
        source="parent_call.task_id", allow_null=True, default=None, help_text="The task that delegated it."
    )
    children = serializers.SerializerMethodField(help_text="The tasks that it has delegated.")
    queue_position = serializers.SerializerMethodField(help_text="1 for the next; null for a task that is not queued.")
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
            *(
                "id",
                "session",
                "agent",
                "parent",
                "children",
                "state",
                "waiting_for",
                "queue_position",
                "failure",
                "stopped",
                "iteration",
                "pending",
            ),
            *("workflow", "plan", "usage", "cost_usd", "output_schema", "final_result", "created_at", "ended_at"),
        ]
        read_only_fields = fields

    @extend_schema_field(serializers.ListField(child=serializers.UUIDField()))
    def get_children(self, task: Task) -> list[str]:
        """Those of all tasks of a page are asked for with its first one."""
        known = self.context.setdefault("children", {})
        if task.pk not in known:
            page: Any = self.parent.instance if isinstance(self.parent, serializers.ListSerializer) else [task]
            known.update(_children([one.pk for one in page]))
        return list(map(str, known[task.pk]))

    def get_queue_position(self, task: Task) -> int | None:
        return admission.position_of(task)

    @extend_schema_field(FailureSerializer(allow_null=True))
    def get_failure(self, task: Task) -> dict[str, str] | None:
        return {"code": task.failure_code, "detail": task.failure_detail} if task.failure_code else None

    @extend_schema_field(serializers.JSONField(allow_null=True))
    def get_output_schema(self, task: Task) -> Any:
        return orjson.loads(task.output_schema) if task.output_schema else None

    @extend_schema_field(PendingSerializer(allow_null=True))
    def get_pending(self, task: Task) -> dict[str, Any] | None:
        return pending_json(task)


def _children(tasks: Sequence[UUID]) -> dict[UUID, list[UUID]]:
    """Which tasks each of them has delegated, in the order of its calls."""
    found: dict[UUID, list[UUID]] = {task: [] for task in tasks}
    if len(tasks) == 1:
        rows = _children_of.rows(*tasks)
    else:
        rows = list(_by_parent(Task.objects.filter(parent_call__task__in=tasks)))
    for task, child in rows:
        found[task].append(child)
    return found


def _by_parent(children: QuerySet[Task]) -> "QuerySet[Task, tuple[UUID, UUID]]":
    return children.order_by("parent_call", "number").values_list("parent_call__task", "pk")


_children_of = Select(lambda task: _by_parent(Task.objects.filter(parent_call__task=task)))


class TaskQuery(serializers.Serializer[Any]):
    session = serializers.UUIDField(required=False)
    parent: Any = serializers.UUIDField(required=False, source="parent_call__task")
    state = serializers.ChoiceField(TaskState.choices, required=False)


class TaskList(ListAPIView[Task]):
    """The tasks of all sessions that the user may see, newest first."""

    queryset = Task.objects.all()
    serializer_class = TaskSerializer

    def get_queryset(self) -> QuerySet[Task]:
        query = TaskQuery(data=self.request.query_params)
        query.is_valid(raise_exception=True)
        if session := query.validated_data.get("session"):
            may_see = is_visible(self.request.user, session)
            visible = Task.objects.all() if may_see else Task.objects.none()
        else:
            visible = Task.objects.visible_to(self.request.user)
        return visible.filter(**query.validated_data)

    def whole(self) -> QuerySet[Task]:
        return Task.objects.select_related("agent_version", "parent_call")

    @extend_schema(parameters=[TaskQuery])
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return super().get(request, *args, **kwargs)


class WaitQuery(serializers.Serializer[Any]):
    wait = serializers.IntegerField(
        default=0,
        min_value=0,
        max_value=MOST_SECONDS,
        help_text="Answer when `state` or `waiting_for` changes, at the latest after so many seconds.",
    )


class TaskDetail(GenericAPIView[Task]):
    serializer_class = TaskSerializer

    @extend_schema(parameters=[WaitQuery])
    def get(self, request: Request, task_id: UUID) -> Response:
        """With `wait`, the server asks again once something has changed: `change` is what it awaits, in no thread."""
        query = WaitQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        task = visible_task(request.user, task_id)
        response = Response(self.get_serializer(task).data)
        if (seconds := query.validated_data["wait"]) and task.is_active:
            follower = StateChange(request.user, task.session_id, admission_of(request))
            response.change = partial(follower.from_, task, seconds)  # type: ignore[attr-defined]
        return response
