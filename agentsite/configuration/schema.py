"""The configuration file as a whole. Names and defaults are those of the outward interface."""

from agentsite.configuration.agents import AgentSection, WorkflowSection
from agentsite.configuration.models import ModelSection, ProviderSection
from agentsite.configuration.people import LimitsSection, RoleSection, UserSection
from agentsite.configuration.section import Section
from agentsite.configuration.tools import McpServerSection, NetworkSection, SearchSection, ToolSection


class Configuration(Section):
    """What the file does not mention stays as it is."""

    providers: list[ProviderSection] = []
    models: list[ModelSection] = []
    roles: list[RoleSection] = []
    tools: list[ToolSection] = []
    users: list[UserSection] = []
    agents: list[AgentSection] = []
    workflows: list[WorkflowSection] = []
    limits: LimitsSection = LimitsSection()
    mcp_servers: list[McpServerSection] = []
    network: NetworkSection = NetworkSection()
    search: SearchSection | None = None
