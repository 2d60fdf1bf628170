"""The tool policy: which tools a user can see and run, and which calls need approval. Loaded before each step."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from django.contrib.auth import get_user_model

from tools_app.contract import Arguments, Danger, Judgement, Target, ToolDefinition, ToolVisibility, registry
from tools_app.files import Workspace
from tools_app.mcp.tool import mcp_tool
from tools_app.models import ApprovalMode, McpServer, McpTool, RolePolicy, ToolSetting, UserPolicy
from tools_app.shell.restrictions import UNRESTRICTED, Restrictions

ALWAYS_ALLOWED = "message"  # no task could end without it
MAX_SHOWN = 8  # tools of MCP servers; beyond that, they are loaded by group
# Built-in tools that are loaded by group if the model's window is small.
_GROUPS = {
    "web": ("search the web, read pages, use a browser", ("search", "fetch_url", "browser")),
    "media": ("look at pictures; make pictures, sound, long documents, slides", ("vision", "generate", "slides")),
}
_STRICTNESS = (ApprovalMode.NEVER, ApprovalMode.BY_DANGER, ApprovalMode.ALWAYS)


@dataclass(frozen=True, kw_only=True)
class RoleRules:
    """The tool lists of a role. An empty `allow` allows all. `approvals` maps names to never, by_danger or always."""

    allow: frozenset[str] = frozenset()
    deny: frozenset[str] = frozenset()
    approvals: Mapping[str, str] = field(default_factory=dict)


class VisibleTools(list[ToolDefinition]):
    """The tools that a model sees. Properties needed in every step are cached."""

    @cached_property
    def names(self) -> list[str]:
        """The names in alphabetical order."""
        return sorted(tool.name for tool in self)

    @cached_property
    def independent(self) -> list[str]:
        """The names in alphabetical order, without the tools that come and go with another one."""
        return sorted(tool.name for tool in self if not tool.accompanies)

    @cached_property
    def repeatable(self) -> list[str]:
        """The names of tools that are exempt from loop detection."""
        return [tool.name for tool in self if tool.loop_exempt]

    @cached_property
    def taking_secrets(self) -> list[str]:
        """The names of tools that accept secrets."""
        return [tool.name for tool in self if tool.takes_secrets]


@dataclass(frozen=True, kw_only=True)
class Policy:
    """The tools that one user can use in one session now.

    `denied` are names denied by the user's, agent's or session's blacklist, and tools open to other roles only.
    `switched_off` are tools that the user does not want. With `safe_only`, only tools and calls of the level safe are
    available. `restrictions` apply to calls. `extra` are tools of MCP servers by name, `groups` the descriptions of
    these servers by server name. `unreachable` are servers whose tools could not be listed lately. `helpers` are agents
    as tools, by name. A delegated task has only tools that all sets of `only` contain. With `has_small_window`, most
    tools are loaded by group.
    """

    settings: Mapping[str, ToolSetting] = field(default_factory=dict)
    roles: Sequence[RoleRules] = ()
    denied: frozenset[str] = frozenset()
    switched_off: frozenset[str] = frozenset()
    safe_only: bool = False
    restrictions: Restrictions = UNRESTRICTED
    extra: Mapping[str, ToolDefinition] = field(default_factory=dict)
    groups: Mapping[str, str] = field(default_factory=dict)
    unreachable: Sequence[str] = ()
    helpers: Mapping[str, ToolDefinition] = field(default_factory=dict)
    only: Sequence[frozenset[str]] = ()
    has_small_window: bool = False
    _visible: dict[ToolVisibility, VisibleTools] = field(default_factory=dict, init=False, compare=False)

    def find(self, name: str) -> ToolDefinition:
        """Return the tool of this name, whether it is visible or not.

        Raises: UnknownTool
        """
        return self.extra.get(name) or self.helpers.get(name) or registry.get(name)

    def meant_name(self, name: str) -> str:
        """Return the name of the tool that a call means: other harnesses prefix names, or have others."""
        return registry.meant_name(name, {*self.extra, *self.helpers})

    def allows(self, name: str) -> bool:
        """Return whether any role allows the tool and no blacklist denies it. `message` is always allowed."""
        if name == ALWAYS_ALLOWED:
            return True
        if any(name not in names for names in self.only):
            return False
        setting = self.settings.get(name)
        if (setting is not None and not setting.enabled) or name in self.denied | self.switched_off:
            return False
        if any(name in role.deny for role in self.roles):
            return False
        return not self.roles or any(not role.allow or name in role.allow for role in self.roles)

    def is_available(self, definition: ToolDefinition, visibility: ToolVisibility) -> bool:
        """Return whether a tool is available now. Calls of an unavailable tool are refused as well."""
        if visibility.answers_only and definition.name != "message":
            return False
        if (group := self.group_of(definition.name)) and visibility.loaded.isdisjoint({group, definition.name}):
            return False
        return self._permits(definition) and definition.visible(visibility)

    def _permits(self, definition: ToolDefinition) -> bool:
        if definition.target is Target.MCP and definition.name not in self.extra:
            return False  # its server or confirmation is gone
        if self.safe_only and self.level(definition) > Danger.SAFE:
            return False
        return self.allows(definition.name)

    def visible(self, visibility: ToolVisibility) -> VisibleTools:
        """Return the visible tools. Cached for each situation, because every step asks several times."""
        if (cached := self._visible.get(visibility)) is None:
            tools = [tool for tool in self.all_tools() if self.is_available(tool, visibility)]
            names = {"", *(tool.name for tool in tools)}
            cached = self._visible[visibility] = VisibleTools(
                tool for tool in tools if tool.listed(visibility) and tool.accompanies in names
            )
        return cached

    def all_tools(self) -> list[ToolDefinition]:
        """Return the built-in tools, the agents that are tools, and the MCP tools open to the user."""
        return [*registry.all_tools(), *self.helpers.values(), *self.extra.values()]

    def switchable_tools(self) -> list[ToolDefinition]:
        """Return the tools that the user can switch on or off: those that nothing else denies."""
        without_switches = replace(self, switched_off=frozenset())
        return [tool for tool in self.all_tools() if without_switches.allows(tool.name) and tool.name != ALWAYS_ALLOWED]

    @cached_property
    def permitted(self) -> frozenset[str]:
        """The names of the tools that nothing forbids, whether they are visible now or not."""
        return frozenset(definition.name for definition in self.all_tools() if self._permits(definition))

    @cached_property
    def tools_by_group(self) -> Mapping[str, Sequence[str]]:
        """The tool names by the group that must be loaded first; empty while all tools can be shown."""
        allowed = [definition for definition in self.extra.values() if self.allows(definition.name)]
        built_in = {group: list(filter(self.allows, names)) for group, (_, names) in _GROUPS.items()}
        groups = built_in if self.has_small_window else {}
        if len(allowed) <= MAX_SHOWN and not (allowed and self.has_small_window):
            return groups
        of_servers = {group: [tool.name for tool in allowed if tool.group == group] for group in self.groups}
        return {name: [*groups.get(name, ()), *of_servers.get(name, ())] for name in {**groups, **of_servers}}

    def group_of(self, name: str) -> str:
        """Return the group that a tool is loaded with, '' if it needs none."""
        return next((group for group, names in self.tools_by_group.items() if name in names), "")

    def group_description(self, group: str) -> str:
        """Return the purpose of a group's tools, and whether its server could not be reached lately."""
        state = "not reachable now" if group in self.unreachable else ""
        return "; ".join(filter(None, [state, _GROUPS.get(group, ("",))[0], self.groups.get(group, "")]))

    def level(self, definition: ToolDefinition) -> Danger:
        """Return the danger of a tool: its own, or the one set by an administrator."""
        setting = self.settings.get(definition.name)
        return Danger[setting.danger.upper()] if setting is not None and setting.danger else definition.danger

    def hosts(self, name: str) -> frozenset[str]:
        """Return the hosts that programs started by a tool can reach."""
        setting = self.settings.get(name)
        return frozenset(setting.hosts) if setting is not None else frozenset()

    def judge(self, definition: ToolDefinition, arguments: Arguments, workspace: Workspace) -> Judgement:
        """Return the danger of a call: the level of its tool, raised by the tool's own judgement."""
        judged, level = definition.judgement(arguments, workspace), self.level(definition)
        setting = self.settings.get(definition.name)
        if setting is None or not setting.danger:
            return judged
        raised = judged.danger > definition.danger
        return judged if raised and judged.danger >= level else Judgement(danger=level, rule="set by an administrator")

    def needs_approval(self, name: str, judgement: Judgement) -> bool:
        approval = self._approval(name)
        if approval == ApprovalMode.BY_DANGER:
            return judgement.danger is Danger.DANGEROUS
        return approval == ApprovalMode.ALWAYS

    def can_ask(self, name: str) -> bool:
        """Return whether some calls of a tool wait for an approval."""
        return self._approval(name) != ApprovalMode.NEVER

    def _approval(self, name: str) -> str:
        """Return the strictest approval among the user's roles, else the one of the tool's setting."""
        approvals = [role.approvals[name] for role in self.roles if name in role.approvals]
        setting = self.settings.get(name)
        if approvals:
            return max(approvals, key=_STRICTNESS.index)
        return setting.approval if setting else ApprovalMode.BY_DANGER


def policy_for(
    user_id: int,
    *,
    denied: Collection[str] = (),
    safe_only: bool = False,
    restrictions: Restrictions = UNRESTRICTED,
    helpers: Iterable[ToolDefinition] = (),
    only: Sequence[frozenset[str]] = (),
    has_small_window: bool = False,
) -> Policy:
    """Load the policy of a user with six queries. `denied` are names denied by the session."""
    rows = RolePolicy.objects.filter(role__in=get_user_model().roles_of(user_id))
    of_user = UserPolicy.objects.filter(user=user_id).first() or UserPolicy()
    closed = ToolSetting.objects.closed_to(user_id).values_list("name", flat=True)
    mcp_tools = list(McpTool.objects.usable_by(user_id).select_related("server"))
    return Policy(
        extra={str(row): definition_of(row) for row in mcp_tools},
        groups={row.server.name: row.server.description for row in mcp_tools},
        unreachable=tuple(McpServer.objects.usable_by(user_id).unreachable().values_list("name", flat=True)),
        settings={setting.name: setting for setting in ToolSetting.objects.all()},
        roles=[
            RoleRules(allow=frozenset(row.allow), deny=frozenset(row.deny), approvals=row.approvals) for row in rows
        ],
        denied=frozenset([*of_user.deny, *closed, *denied]),
        switched_off=frozenset(of_user.switched_off),
        safe_only=safe_only,
        restrictions=restrictions,
        helpers={definition.name: definition for definition in helpers},
        only=only,
        has_small_window=has_small_window,
    )


def definition_of(row: McpTool) -> ToolDefinition:
    """Return the tool definition of a row. The object stays the same until the row changes."""
    return mcp_tool(
        server=row.server.name,
        tool=row.name,
        description=row.description,
        schema=row.schema,
        digest=row.digest,
        danger=row.danger,
        is_destructive=row.is_destructive,
        loop_exempt=bool({row.name, row.own_name} & set(row.server.loop_exempt)),
    )
