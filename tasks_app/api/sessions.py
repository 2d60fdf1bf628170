"""Sessions and their list."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import GenericAPIView, ListCreateAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from llm_app.models import LogicalModel
from tasks_app import services
from tasks_app.access import owned_session, visible_session, writable_session
from tasks_app.api import session_rows
from tasks_app.api.formats import NewestByKey, Text, validated_query
from tasks_app.api.idempotency import idempotent
from tasks_app.models import Agent, Project, Session, Task, file_session, format_tags
from tasks_app.models.filing import MAX_TAGS


class TaskBriefSerializer(serializers.ModelSerializer[Task]):
    class Meta:
        model = Task
        fields = ["id", "state", "waiting_for"]
        read_only_fields = fields


class _NameField(serializers.SlugRelatedField[Any]):
    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, str) or "\0" in data:
            self.fail("invalid")
        return super().to_internal_value(data)


class ModelName(_NameField):
    """A field for a model that the user may use. Other models do not exist for it."""

    default_error_messages = {"does_not_exist": "There is no model called {value}. GET models/ lists them."}

    def get_queryset(self) -> QuerySet[LogicalModel]:
        return LogicalModel.objects.visible_to(self.context["request"].user.pk)


class AgentName(_NameField):
    """A field for an agent that the user may use."""

    default_error_messages = {"does_not_exist": "There is no agent called {value}. GET agents/ lists them."}

    def get_queryset(self) -> QuerySet[Agent]:
        return Agent.objects.usable_by(self.context["request"].user.pk)


class ProjectId(serializers.PrimaryKeyRelatedField[Project]):
    default_error_messages = {"does_not_exist": "There is no project {pk_value} in which you may write."}

    def get_queryset(self) -> QuerySet[Project]:
        return Project.objects.writable_by(self.context["request"].user)


class Tags(serializers.ListField):
    child = serializers.RegexField(r"^[^\s\0]{1,40}\Z", error_messages={"invalid": "A tag has no spaces."})

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=MAX_TAGS, **options)

    def to_internal_value(self, data: Any) -> Any:
        return format_tags(super().to_internal_value(data))


class SessionSerializer(serializers.ModelSerializer[Session]):
    """`model` and `agent` are names, null for the default model and the agent as it ships. `active_agent` acts in place
    of `agent`, which has handed the conversation on to it, until it answers. `task` is the newest one. Of a delegated
    task, `root` is the session that a person started, and `folder` its part of that one's workspace.
    """

    title = Text(required=False, allow_blank=True, max_length=200)
    model: Any = ModelName(slug_field="name", queryset=LogicalModel.objects.all(), required=False, allow_null=True)
    agent: Any = AgentName(slug_field="name", queryset=Agent.objects.all(), required=False, allow_null=True)
    active_agent: Any = serializers.SlugRelatedField(slug_field="name", read_only=True, allow_null=True)
    project: Any = ProjectId(required=False, allow_null=True, help_text="One that the user may write in, or null.")
    denied_tools = serializers.ListField(
        child=serializers.RegexField(r"^[A-Za-z0-9_-]{1,100}\Z", error_messages={"invalid": "This is no tool's name."}),
        required=False,
        max_length=200,
        help_text="Names of tools that the agent may not use in this session. Only the owner changes them.",
    )
    pinned = serializers.BooleanField(source="is_pinned", required=False, help_text="In the user's own list.")
    archived = serializers.BooleanField(source="is_archived", required=False, help_text="In the user's own list.")
    tags: Any = Tags(source="tag_text", required=False, help_text="The user's own; no spaces, lower case.")
    next_steps = serializers.ListField(child=serializers.CharField(), read_only=True)
    owner: Any = serializers.SlugRelatedField(slug_field="username", read_only=True)
    task = TaskBriefSerializer(read_only=True, allow_null=True)
    found_line = serializers.CharField(
        read_only=True, help_text="Of a search: the newest line of a message that has the words. Else empty."
    )

    class Meta:
        model = Session
        fields = [*session_rows.COLUMNS, "found_line"]
        read_only_fields = ["summary", "parent", "parent_seq", "root", "folder"]

    def validate_denied_tools(self, value: list[str]) -> list[str]:
        names = list(dict.fromkeys(value))
        session, user = self.instance, self.context["request"].user
        if session is not None and names != session.denied_tools and session.owner_id != user.pk:
            raise serializers.ValidationError("Only the owner of a session changes which tools it has.")
        return names

    def validate_off_record(self, value: bool) -> bool:
        if self.instance is not None and value != self.instance.off_record:
            raise serializers.ValidationError("This is set when a session is created. Create another session.")
        return value

    def validate_project(self, value: Project | None) -> Project | None:
        session, user = self.instance, self.context["request"].user
        current = session.project if session else None
        may_take_out = value is None and current is not None and current.owner_id == user.pk
        if session is not None and value != current and session.owner_id != user.pk and not may_take_out:
            raise serializers.ValidationError("Only the owner of a session moves it.")
        return value

    def to_representation(self, row: Any) -> dict[str, Any]:
        return session_rows.as_json(row)


class SessionQuery(serializers.Serializer[Any]):
    root: Any = serializers.UUIDField(
        required=False,
        help_text="Those of the tasks that were delegated below a session, which are left out otherwise.",
    )
    project: Any = serializers.UUIDField(required=False, help_text="Those of a project.")
    q = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=500,
        help_text="Words in titles and entries; `tag:work`, `model:name`, `before:2027-01-31`, `after:2026-12-01`, "
        "`is:pinned` and `is:archived` narrow it down.",
    )


class SessionList(ListCreateAPIView[Session]):
    """The user's own sessions and those shared with them, newest first."""

    queryset = Session.objects.all()
    serializer_class = SessionSerializer
    pagination_class = NewestByKey

    def get_queryset(self) -> Any:
        filters = dict(validated_query(SessionQuery, self.request))
        return session_rows.visible_sessions(self.request.user, filters.pop("q", ""), filters)

    def paginate_queryset(self, queryset: Any) -> Any:
        rows = super().paginate_queryset(queryset)
        words = validated_query(SessionQuery, self.request).get("q", "")
        return session_rows.with_found_lines(rows, words) if rows and words else rows

    @extend_schema(parameters=[SessionQuery])
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return super().get(request, *args, **kwargs)

    @idempotent
    def post(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return super().post(request, *args, **kwargs)

    def perform_create(self, serializer: serializers.BaseSerializer[Session]) -> None:
        user, filing = self.request.user, _pop_filing(serializer.validated_data)
        created = services.create_session(user, **serializer.validated_data)
        if filing:
            file_session(created, user, **filing)
        serializer.instance = session_rows.row_of(created, user)  # type: ignore[assignment]  # as to_representation wants


class SessionDetail(GenericAPIView[Session]):
    """Members who can write change title and model. Only the owner denies tools and deletes the session. Everybody
    who sees it can pin, archive and tag it in their own list.
    """

    queryset = Session.objects.all()
    serializer_class = SessionSerializer

    def get(self, request: Request, session_id: UUID) -> Response:
        return Response(session_rows.as_json(session_rows.visible_row(request.user, session_id)))

    def patch(self, request: Request, session_id: UUID) -> Response:
        session = visible_session(request.user, session_id)
        serializer = self.get_serializer(session, data=request.data, partial=True)
        serializer.is_valid(raise_exception=True)
        changes = serializer.validated_data
        filing = _pop_filing(changes)
        moves = {"project": changes.pop("project")} if "project" in changes else {}
        if changes or moves or not filing:
            writable_session(request.user, session_id)
        if moves:
            services.move_session(session, **moves)
        if changes or not (filing or moves):
            services.change_session(session, **changes)
        if filing:
            file_session(session, request.user, **filing)
        return Response(session_rows.as_json(session_rows.row_of(session, request.user)))

    def delete(self, request: Request, session_id: UUID) -> Response:
        services.delete_session(owned_session(request.user, session_id))
        return Response(status=204)


def _pop_filing(fields: dict[str, Any]) -> dict[str, Any]:
    """Remove the fields of the user's own list, and return them as arguments of `file_session`."""
    names = {"is_pinned": "is_pinned", "is_archived": "is_archived", "tag_text": "tags"}
    return {column: fields.pop(name) for name, column in names.items() if name in fields}
