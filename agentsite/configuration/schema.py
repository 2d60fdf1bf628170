"""The shape of the configuration file. Names and defaults are those of the outward interface."""

from agentsite.configuration.agents import Agent, Workflow
from agentsite.configuration.models import LogicalModel, Provider, Route
from agentsite.configuration.people import Budget, Limits, Role, User
from agentsite.configuration.section import Section
from agentsite.configuration.tools import McpServer, Network, Search, Tool

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
