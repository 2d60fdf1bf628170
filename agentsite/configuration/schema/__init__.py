"""The shape of the configuration file. Names and defaults are those of the outward interface."""

from agentsite.configuration.schema.agents import Agent, Workflow
from agentsite.configuration.schema.people import Budget, Limits, Role, User
from agentsite.configuration.schema.providers import LogicalModel, Provider, Route
from agentsite.configuration.schema.tools import McpServer, Network, Search, Tool
from agentsite.configuration.values import Section

__all__ = [
    "Agent",
    "Budget",
    "Configuration",
    "Limits",
    "LogicalModel",
    "McpServer",
    "Network",
    "Provider",
    "Role",
    "Route",
    "Search",
    "Tool",
    "User",
    "Workflow",
]


class Configuration(Section):
    """The whole file. What it does not mention stays as it is."""

    providers: list[Provider] = []
    models: list[LogicalModel] = []
    roles: list[Role] = []
    tools: list[Tool] = []
    users: list[User] = []
    agents: list[Agent] = []
    workflows: list[Workflow] = []
    limits: Limits = Limits()
    mcp_servers: list[McpServer] = []
    network: Network = Network()
    search: Search | None = None
