"""Sessions."""

from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Prefetch, Q, QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.generics import GenericAPIView, ListCreateAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from llm_app.models import LogicalModel
from tasks_app import services
from tasks_app.api.access import visible_session, writable_session
from tasks_app.api.fields import Text
from tasks_app.api.idempotency import idempotent
from tasks_app.models import Agent, ContextEntry, Session, Task


class TaskBriefSerializer(serializers.ModelSerializer[Task]):
    class Meta:
        model = Task
        fields = ["id", "state", "waiting_for"]
        read_only_fields = fields


class ModelName(serializers.SlugRelatedField[LogicalModel]):
    """A model that the user may use; to others it does not exist."""

    default_error_messages = {"does_not_exist": "There is no model called {value}. GET models/ lists them."}

    def get_queryset(self) -> QuerySet[LogicalModel]:
        return LogicalModel.objects.visible_to(self.context["request"].user.pk)


class SessionSerializer(serializers.ModelSerializer[Session]):
    """`model` and `agent` are names, null for the default model and the agent as it ships; `task` is the newest one."""

    title = Text(required=False, allow_blank=True, max_length=200)
    model: Any = ModelName(slug_field="name", queryset=LogicalModel.objects.all(), required=False, allow_null=True)
    agent: Any = serializers.SlugRelatedField(
        slug_field="name",
        queryset=Agent.objects.all(),
        required=False,
        allow_null=True,
        error_messages={"does_not_exist": "There is no agent called {value}. GET agents/ lists them."},
    )
    next_steps = serializers.ListField(child=serializers.CharField(), read_only=True)
    owner: Any = serializers.SlugRelatedField(slug_field="username", read_only=True)
    task = serializers.SerializerMethodField()

    class Meta:
        model = Session
        fields = ["id", "title", "model", "agent", "summary", "next_steps", "owner", "task", "parent", "parent_seq"]
        fields += ["off_record", "created_at", "updated_at"]
        read_only_fields = ["summary", "parent", "parent_seq"]

    def validate_off_record(self, value: bool) -> bool:
        if self.instance is not None and value != self.instance.off_record:
            raise serializers.ValidationError("This is chosen when a session is created. Create another one.")
        return value

    @extend_schema_field(TaskBriefSerializer(allow_null=True))
    def get_task(self, session: Session) -> dict[str, Any] | None:
        tasks: list[Task] = session.newest_tasks  # type: ignore[attr-defined]  # prefetched by rows
        return TaskBriefSerializer(tasks[0]).data if tasks else None


class SessionQuery(serializers.Serializer[Any]):
    q = serializers.CharField(required=False, allow_blank=True, max_length=200, help_text="In titles and entries.")


class SessionList(ListCreateAPIView[Session]):
    """The user's own sessions and those shared with them, newest first."""

    queryset = Session.objects.all()
    serializer_class = SessionSerializer

    def get_queryset(self) -> QuerySet[Session]:
        query = SessionQuery(data=self.request.query_params)
        query.is_valid(raise_exception=True)
        visible = rows(Session.objects.visible_to(self.request.user))
        return found(visible, words) if (words := query.validated_data.get("q")) else visible

    @extend_schema(parameters=[SessionQuery])
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return super().get(request, *args, **kwargs)

    @idempotent
    def post(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return super().post(request, *args, **kwargs)

    def perform_create(self, serializer: serializers.BaseSerializer[Session]) -> None:
        created = services.create_session(self.request.user, **serializer.validated_data)
        serializer.instance = row(created)


class SessionDetail(GenericAPIView[Session]):
    """Who may write may change the title and the model; only the owner can delete."""

    queryset = Session.objects.all()
    serializer_class = SessionSerializer

    def get(self, request: Request, session_id: UUID) -> Response:
        return self._answer(visible_session(request.user, session_id))

    def patch(self, request: Request, session_id: UUID) -> Response:
        session = writable_session(request.user, session_id)
        serializer = self.get_serializer(session, data=request.data, partial=True)
        serializer.is_valid(raise_exception=True)
        services.change_session(session, **serializer.validated_data)
        return self._answer(session)

    def delete(self, request: Request, session_id: UUID) -> Response:
        session = visible_session(request.user, session_id)
        if session.owner_id != request.user.pk:
            raise PermissionDenied("Only its owner can delete a session.")
        services.delete_session(session)
        return Response(status=204)

    def _answer(self, session: Session) -> Response:
        return Response(self.get_serializer(row(session)).data)


def rows(sessions: QuerySet[Session]) -> QuerySet[Session]:
    """With all that their JSON needs, in three queries for any number of them."""
    newest = Prefetch("tasks", Task.objects.order_by("-created_at")[:1], to_attr="newest_tasks")
    return sessions.select_related("owner", "model", "agent").prefetch_related(newest)


def found(sessions: QuerySet[Session], words: str) -> QuerySet[Session]:
    entries = ContextEntry.objects.filter(session=OuterRef("pk"), content__icontains=words)
    return sessions.filter(Q(title__icontains=words) | Exists(entries))


def row(session: Session) -> Session:
    """One session as `rows` has them."""
    return rows(Session.objects.all()).get(pk=session.pk)
