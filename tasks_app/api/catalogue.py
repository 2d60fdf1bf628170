"""The models, tools, agents and workflows that a user can choose."""

from datetime import datetime
from typing import Any, cast

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import GenericAPIView, ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from llm_app.models import LogicalModel, LogicalModelQuerySet, Route
from llm_app.provider_status import ProviderStatus, status_of
from tasks_app.api.formats import SinglePage
from tasks_app.models import Agent, Workflow
from tools_app.contract import ToolDefinition
from tools_app.models import DangerLevel
from tools_app.policy import Policy, policy_for


class ModelSerializer(serializers.ModelSerializer[LogicalModel]):
    """`works` goes by the last call or test of its providers, at `checked_at`: null if there was none, false if all
    of them failed.
    """

    works = serializers.SerializerMethodField()
    checked_at = serializers.SerializerMethodField()

    class Meta:
        model = LogicalModel
        fields = ["name", "context_window", "is_default", "works", "checked_at"]
        read_only_fields = fields

    def get_works(self, model: LogicalModel) -> bool | None:
        outcomes = [status.works for status in self._statuses(model)]
        return True if True in outcomes else None if None in outcomes else False

    def get_checked_at(self, model: LogicalModel) -> datetime | None:
        return max((status.at for status in self._statuses(model) if status.at), default=None)

    def _statuses(self, model: LogicalModel) -> list[ProviderStatus]:
        statuses: dict[int, list[ProviderStatus]] = self.context.setdefault("statuses", {})
        if model.pk not in statuses:
            routes = Route.objects.usable_for(model.name).defer("provider__api_key")
            statuses[model.pk] = [status_of(route) for route in routes]
        return statuses[model.pk]


class ModelList(ListAPIView[LogicalModel]):
    """The logical models that a provider answers and that this user may use."""

    serializer_class = ModelSerializer
    pagination_class = SinglePage
    queryset = LogicalModel.objects.filter(routes__provider__enabled=True).distinct()

    def get_queryset(self) -> QuerySet[LogicalModel]:
        models = cast(LogicalModelQuerySet, super().get_queryset())
        return models.visible_to(self.request.user.pk)


class ToolSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    description = serializers.CharField()
    parameters = serializers.DictField(help_text="The JSON Schema of its arguments.")
    danger = serializers.ChoiceField(DangerLevel.choices)


class ToolList(GenericAPIView[Any]):
    """The tools that the agent may use for this user, those of MCP servers among them."""

    serializer_class = ToolSerializer
    pagination_class = SinglePage

    @extend_schema(responses=ToolSerializer(many=True))
    def get(self, request: Request) -> Response:
        user: Any = request.user
        policy = policy_for(user.pk)
        tools = [_tool(tool, policy) for tool in policy.all_tools() if policy.allows(tool.name)]
        return SinglePage().get_paginated_response(ToolSerializer(tools, many=True).data)


def _tool(definition: ToolDefinition, policy: Policy) -> dict[str, Any]:
    return {
        "name": definition.name,
        "description": definition.description,
        "parameters": definition.parameters,
        "danger": policy.level(definition).word,
    }


class AgentSerializer(serializers.ModelSerializer[Agent]):
    class Meta:
        model = Agent
        fields = ["name", "description", "is_default"]
        read_only_fields = fields


class AgentList(ListAPIView[Agent]):
    """The agents that a session's `agent` can name. Without one, a session has the agent as it ships."""

    serializer_class = AgentSerializer
    pagination_class = SinglePage
    queryset = Agent.objects.all()

    def get_queryset(self) -> QuerySet[Agent]:
        return Agent.objects.usable_by(self.request.user.pk)


class WorkflowSerializer(serializers.ModelSerializer[Workflow]):
    steps: Any = serializers.SlugRelatedField(slug_field="title", many=True, read_only=True)

    class Meta:
        model = Workflow
        fields = ["name", "description", "steps"]
        read_only_fields = fields


class WorkflowList(ListAPIView[Workflow]):
    """The workflows that a message's `workflow` can name, each with the titles of its steps."""

    serializer_class = WorkflowSerializer
    pagination_class = SinglePage
    queryset = Workflow.objects.usable().prefetch_related("steps")
