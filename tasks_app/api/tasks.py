"""The state of tasks, and requests that wait for its change."""

from functools import partial
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import GenericAPIView, ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from tasks_app.access import visible_task
from tasks_app.api import task_rows
from tasks_app.api.authentication import credential_of
from tasks_app.api.entries import ToolCallSerializer
from tasks_app.api.formats import NewestByKey, validated_query
from tasks_app.hub.subscriber import StateSubscriber
from tasks_app.models import PERSON_WAITS, FailureCode, Task, TaskState

MAX_WAIT_SECONDS = 60  # of waiting in one request: proxies end longer ones


class PendingSerializer(ToolCallSerializer):
    """The open tool call that waits for a person. A question has `text` and `options`, an approval `danger`."""

    kind = serializers.ChoiceField([kind.value for kind in PERSON_WAITS])
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


class SilenceSerializer(serializers.Serializer[Any]):
    """A provider that sends nothing. It is given up at `gives_up_at`, unless it sends something before."""

    provider = serializers.CharField()
    since = serializers.DateTimeField()
    gives_up_at = serializers.DateTimeField()


class TaskSerializer(serializers.ModelSerializer[Task]):
    """`agent` is that of its beginning, null for the agent as it ships: `llm-calls/` has that of each step. `cost_usd`
    is null where no price is known.
    """

    session = serializers.UUIDField(source="session_id")
    agent = AgentVersionSerializer(source="agent_version", allow_null=True)
    parent: Any = serializers.UUIDField(
        source="parent_call.task_id", allow_null=True, default=None, help_text="The task that delegated it."
    )
    children = serializers.ListField(
        child=serializers.UUIDField(), read_only=True, help_text="The tasks that it has delegated."
    )
    queue_position = serializers.IntegerField(
        read_only=True, allow_null=True, help_text="1 for the next; null for a task that is not queued."
    )
    silence = SilenceSerializer(
        source="silent_provider",
        read_only=True,
        allow_null=True,
        help_text="The provider that has sent nothing for 10 s or more; null while it answers.",
    )
    failure = FailureSerializer(read_only=True, allow_null=True)
    pending = PendingSerializer(read_only=True, allow_null=True)
    workflow = serializers.CharField(source="workflow.name", default=None, allow_null=True)
    plan = PlanStepSerializer(many=True)
    usage = UsageSerializer()
    cost_usd = serializers.FloatField(allow_null=True)
    output_schema: Any = serializers.JSONField(read_only=True, allow_null=True)
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
                "silence",
                "queue_position",
                "failure",
                "stopped",
                "iteration",
                "pending",
            ),
            *("workflow", "plan", "usage", "cost_usd", "output_schema", "final_result", "created_at", "ended_at"),
        ]
        read_only_fields = fields

    def to_representation(self, task: Task) -> dict[str, Any]:
        """Return the task's JSON. The first task of a page loads the children of all its tasks."""
        children = self.context.setdefault("children", {})
        if task.pk not in children:
            page: Any = self.parent.instance if isinstance(self.parent, serializers.ListSerializer) else [task]
            children.update(task_rows.children_of([row.pk for row in page]))
        return task_rows.as_json(task, children[task.pk])


class TaskQuery(serializers.Serializer[Any]):
    session = serializers.UUIDField(required=False)
    parent: Any = serializers.UUIDField(required=False, source="parent_call__task")
    state = serializers.ChoiceField(TaskState.choices, required=False)


class TaskList(ListAPIView[Task]):
    """The tasks of all sessions that the user may see, newest first."""

    queryset = Task.objects.all()
    serializer_class = TaskSerializer
    pagination_class = NewestByKey

    def get_queryset(self) -> Any:
        return task_rows.visible_tasks(self.request.user, validated_query(TaskQuery, self.request))

    @extend_schema(parameters=[TaskQuery])
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return super().get(request, *args, **kwargs)


class WaitQuery(serializers.Serializer[Any]):
    wait = serializers.IntegerField(
        default=0,
        min_value=0,
        max_value=MAX_WAIT_SECONDS,
        help_text="Answer when `state` or `waiting_for` changes, at the latest after so many seconds.",
    )


class TaskDetail(GenericAPIView[Task]):
    serializer_class = TaskSerializer

    @extend_schema(parameters=[WaitQuery])
    def get(self, request: Request, task_id: UUID) -> Response:
        """Return the task. With `wait`, answer when it changes, at the latest after so many seconds."""
        seconds = validated_query(WaitQuery, request)["wait"]
        task = visible_task(request.user, task_id)
        response = Response(self.get_serializer(task).data)
        if seconds and task.is_active:
            subscriber = StateSubscriber(request.user, task.session_id, credential_of(request))
            response.change = partial(subscriber.wait_for_change, task, seconds)  # type: ignore[attr-defined]
        return response
