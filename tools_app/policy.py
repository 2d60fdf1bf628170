"""Which tools a user may see and run, and which calls a person must approve. Read again before each step."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from django.contrib.auth import get_user_model

from tools_app.contract import Arguments, Danger, Judgement, Target, ToolDefinition, ToolVisibility, registry
from tools_app.files import Workspace
from tools_app.mcp.tool import mcp_tool
from tools_app.models import Approval, McpTool, RolePolicy, ToolSetting, UserPolicy
from tools_app.shell.restrictions import UNRESTRICTED, Restrictions

ALWAYS_THERE = "message"  # without it no task could come to an end
SHOWN_AT_MOST = 8  # tools of MCP servers; more are loaded by group
# What of the built-in tools is loaded by group where the model's window is small.
_GROUPS = {
    "web": ("search the web, read pages, use a browser", ("search", "fetch_url", "browser")),
    "media": ("look at pictures; make pictures, sound, long documents, slides", ("vision", "generate", "slides")),
}
_STRICTNESS = (Approval.NEVER, Approval.BY_DANGER, Approval.ALWAYS)


@dataclass(frozen=True, kw_only=True)
class Role:
    """One role's lists of tool names; an empty `allow` allows all. `approvals`: name → never, by_danger or always."""

    allow: frozenset[str] = frozenset()
    deny: frozenset[str] = frozenset()
    approvals: Mapping[str, str] = field(default_factory=dict)


class VisibleTools(list[ToolDefinition]):
    """Those that a model sees. What every step asks of them is found out once."""

    @cached_property
    def names(self) -> list[str]:
        """In the order of the alphabet."""
        return sorted(tool.name for tool in self)

    @cached_property
    def repeatable(self) -> list[str]:
        """The names of those that may repeat themselves."""
        return [tool.name for tool in self if tool.loop_exempt]

    @cached_property
    def taking_secrets(self) -> list[str]:
        """The names of those that take secrets."""
        return [tool.name for tool in self if tool.takes_secrets]


@dataclass(frozen=True, kw_only=True)
class Policy:
    """What one user may use, in one session, at this moment.

    `denied` are the names on the blacklists beside those of roles: the user's, the agent's, the session's; and the
    tools that are open to other roles only. `switched_off` are those that the user does not want used. With
    `safe_only`, tools and calls above the level safe are not available; `restrictions` hold for calls. `extra` are the
    tools of MCP servers, by name; `groups` say what these servers are good for, by the name of the server.
    `helpers` are agents as tools, by name. A delegated task has what all of `only` name, and no more.
    `has_small_window`: the model reads so little that all but the most useful tools are loaded by group.
    """

    settings: Mapping[str, ToolSetting] = field(default_factory=dict)
    roles: Sequence[Role] = ()
    denied: frozenset[str] = frozenset()
    switched_off: frozenset[str] = frozenset()
    safe_only: bool = False
    restrictions: Restrictions = UNRESTRICTED
    extra: Mapping[str, ToolDefinition] = field(default_factory=dict)
    groups: Mapping[str, str] = field(default_factory=dict)
    helpers: Mapping[str, ToolDefinition] = field(default_factory=dict)
    only: Sequence[frozenset[str]] = ()
    has_small_window: bool = False
    _visible: dict[ToolVisibility, VisibleTools] = field(default_factory=dict, init=False, compare=False)

    def find(self, name: str) -> ToolDefinition:
        """The tool of that name, shown or not. Raises UnknownTool."""
        return self.extra.get(name) or self.helpers.get(name) or registry.get(name)

    def allows(self, name: str) -> bool:
        """Allowed if any role allows, denied if any blacklist denies; without a role, all. `message` always is."""
        if name == ALWAYS_THERE:
            return True
        if any(name not in names for names in self.only):
            return False
        setting = self.settings.get(name)
        if (setting is not None and not setting.enabled) or name in self.denied | self.switched_off:
            return False
        if any(name in role.deny for role in self.roles):
            return False
        return not self.roles or any(not role.allow or name in role.allow for role in self.roles)

    def shows(self, definition: ToolDefinition, visibility: ToolVisibility) -> bool:
        """Whether a tool is there for this user now; one that is not is refused also when it is called by name."""
        if visibility.answers_only and definition.name != "message":
            return False
        if (group := self.group_of(definition.name)) and group not in visibility.loaded:
            return False
        return self._permits(definition) and definition.visible(visibility)

    def _permits(self, definition: ToolDefinition) -> bool:
        if definition.target is Target.MCP and definition.name not in self.extra:
            return False  # its server or its confirmation is gone
        if self.safe_only and self.level(definition) > Danger.SAFE:
            return False
        return self.allows(definition.name)

    def visible(self, visibility: ToolVisibility) -> VisibleTools:
        """Asked several times a step: the answer to a situation stays the same as long as the policy."""
        if (found := self._visible.get(visibility)) is None:
            every = (each for each in self.every_tool() if self.shows(each, visibility) and each.listed(visibility))
            found = self._visible[visibility] = VisibleTools(every)
        return found

    def every_tool(self) -> list[ToolDefinition]:
        """Those of this server, the agents that are tools, and those of the MCP servers that are open to the user."""
        return [*registry.all_tools(), *self.helpers.values(), *self.extra.values()]

    def choices(self) -> list[ToolDefinition]:
        """The tools that the user may switch off or on: all that nobody else denies them."""
        others = replace(self, switched_off=frozenset())
        return [tool for tool in self.every_tool() if others.allows(tool.name) and tool.name != ALWAYS_THERE]

    @cached_property
    def permitted(self) -> frozenset[str]:
        """The names of the tools that nothing forbids, whether they are shown now or not."""
        return frozenset(definition.name for definition in self.every_tool() if self._permits(definition))

    @cached_property
    def on_demand(self) -> Mapping[str, Sequence[str]]:
        """Names of tools by the group that must be loaded first; none while there are few enough to show them all."""
        allowed = [definition for definition in self.extra.values() if self.allows(definition.name)]
        built_in = {group: list(filter(self.allows, names)) for group, (_, names) in _GROUPS.items()}
        groups = built_in if self.has_small_window else {}
        if len(allowed) <= SHOWN_AT_MOST and not (allowed and self.has_small_window):
            return groups
        of_servers = {group: [each.name for each in allowed if each.group == group] for group in self.groups}
        return {name: [*groups.get(name, ()), *of_servers.get(name, ())] for name in {**groups, **of_servers}}

    def group_of(self, name: str) -> str:
        """The group that a tool is loaded with; empty for one that is there without."""
        return next((group for group, names in self.on_demand.items() if name in names), "")

    def about(self, group: str) -> str:
        """What the tools of a group are good for."""
        return "; ".join(filter(None, [_GROUPS.get(group, ("",))[0], self.groups.get(group, "")]))

    def level(self, definition: ToolDefinition) -> Danger:
        """The danger of a tool: its own, or the administrator's word in place of it."""
        setting = self.settings.get(definition.name)
        return Danger[setting.danger.upper()] if setting is not None and setting.danger else definition.danger

    def hosts(self, name: str) -> frozenset[str]:
        """The hosts that what a tool starts may reach."""
        setting = self.settings.get(name)
        return frozenset(setting.hosts) if setting is not None else frozenset()

    def judge(self, definition: ToolDefinition, arguments: Arguments, workspace: Workspace) -> Judgement:
        """The danger of a call: the level of its tool, raised by the tool's own judgement."""
        judged, level = definition.judgement(arguments, workspace), self.level(definition)
        setting = self.settings.get(definition.name)
        if setting is None or not setting.danger:
            return judged
        raised = judged.danger > definition.danger
        return judged if raised and judged.danger >= level else Judgement(danger=level, rule="set by an administrator")

    def needs_approval(self, name: str, judgement: Judgement) -> bool:
        approval = self._approval(name)
        if approval == Approval.BY_DANGER:
            return judgement.danger is Danger.DANGEROUS
        return approval == Approval.ALWAYS

    def _approval(self, name: str) -> str:
        """What the user's roles say of a tool, the strictest of them; else what its setting says."""
        said = [role.approvals[name] for role in self.roles if name in role.approvals]
        setting = self.settings.get(name)
        return max(said, key=_STRICTNESS.index) if said else setting.approval if setting else Approval.BY_DANGER


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
    """Reads the rows that hold for a user: five queries. `denied` are the names that the session adds."""
    rows = RolePolicy.objects.filter(role__in=get_user_model().roles_of(user_id))
    of_user = UserPolicy.objects.filter(user=user_id).first() or UserPolicy()
    closed = ToolSetting.objects.closed_to(user_id).values_list("name", flat=True)
    found = list(McpTool.objects.usable_by(user_id).select_related("server"))
    return Policy(
        extra={str(row): definition_of(row) for row in found},
        groups={row.server.name: row.server.description for row in found},
        settings={setting.name: setting for setting in ToolSetting.objects.all()},
        roles=[Role(allow=frozenset(row.allow), deny=frozenset(row.deny), approvals=row.approvals) for row in rows],
        denied=frozenset([*of_user.deny, *closed, *denied]),
        switched_off=frozenset(of_user.switched_off),
        safe_only=safe_only,
        restrictions=restrictions,
        helpers={definition.name: definition for definition in helpers},
        only=only,
        has_small_window=has_small_window,
    )


def definition_of(row: McpTool) -> ToolDefinition:
    """The same object as long as nothing of the row changes."""
    return mcp_tool(
        server=row.server.name,
        tool=row.name,
        description=row.description,
        schema=row.schema,
        digest=row.digest,
        danger=row.server.danger,
        loop_exempt=row.name in row.server.loop_exempt,
    )
