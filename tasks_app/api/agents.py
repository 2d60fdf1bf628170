"""The agents and workflows that a user may choose: all there are."""

from typing import Any

from rest_framework import serializers
from rest_framework.generics import ListAPIView

from tasks_app.api.pagination import Whole
from tasks_app.models import Agent, Workflow


class AgentSerializer(serializers.ModelSerializer[Agent]):
    class Meta:
        model = Agent
        fields = ["name", "description", "is_default"]
        read_only_fields = fields


class AgentList(ListAPIView[Agent]):
    """What a session's `agent` may be. Without any, each session has the agent as it ships."""

    serializer_class = AgentSerializer
    pagination_class = Whole
    queryset = Agent.objects.all()


class WorkflowSerializer(serializers.ModelSerializer[Workflow]):
    steps: Any = serializers.SlugRelatedField(slug_field="title", many=True, read_only=True)

    class Meta:
        model = Workflow
        fields = ["name", "description", "steps"]
        read_only_fields = fields


class WorkflowList(ListAPIView[Workflow]):
    """What a message's `workflow` may be, each with the titles of its steps."""

    serializer_class = WorkflowSerializer
    pagination_class = Whole
    queryset = Workflow.objects.usable().prefetch_related("steps")
