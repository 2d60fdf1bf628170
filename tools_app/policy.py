"""Which tools a user may see and run, and which calls a person must approve. Read anew before each step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tools_app import registry
from tools_app.base import Arguments, Danger, Judgement, ToolDefinition
from tools_app.models import Approval, RolePolicy, ToolSetting
from tools_app.situation import Situation


@dataclass(frozen=True, kw_only=True)
class Role:
    """One role's lists of tool names; an empty `allow` allows all."""

    allow: frozenset[str] = frozenset()
    deny: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Policy:
    """What holds for one user at this moment."""

    settings: Mapping[str, ToolSetting] = field(default_factory=dict)
    roles: Sequence[Role] = ()

    def allows(self, name: str) -> bool:
        """Allowed if any role allows, denied if any denies; without a role, all tools."""
        setting = self.settings.get(name)
        if setting is not None and not setting.enabled:
            return False
        if any(name in role.deny for role in self.roles):
            return False
        return not self.roles or any(not role.allow or name in role.allow for role in self.roles)

    def shows(self, definition: ToolDefinition, situation: Situation) -> bool:
        """Whether a tool is there for this user now; one that is not is refused also when it is called by name."""
        return self.allows(definition.name) and definition.visible(situation)

    def visible(self, situation: Situation) -> list[ToolDefinition]:
        return [definition for definition in registry.all_tools() if self.shows(definition, situation)]

    def judge(self, definition: ToolDefinition, arguments: Arguments) -> Judgement:
        """The danger of a call: the tool's (or the administrator's) level, raised by the tool's own judgement."""
        judged = definition.judgement(arguments)
        setting = self.settings.get(definition.name)
        if setting is None or not setting.danger:
            return judged
        level = Danger[setting.danger.upper()]
        raised = judged.danger > definition.danger
        return judged if raised and judged.danger >= level else Judgement(danger=level, rule="set by an administrator")

    def needs_approval(self, name: str, judgement: Judgement) -> bool:
        setting = self.settings.get(name)
        approval = setting.approval if setting else Approval.BY_DANGER
        if approval == Approval.BY_DANGER:
            return judgement.danger is Danger.DANGEROUS
        return approval == Approval.ALWAYS


def policy_for(user_id: int) -> Policy:
    """Reads the rows that hold for a user: two queries."""
    rows = RolePolicy.objects.filter(role__user=user_id)
    return Policy(
        settings={setting.name: setting for setting in ToolSetting.objects.all()},
        roles=[Role(allow=frozenset(row.allow), deny=frozenset(row.deny)) for row in rows],
    )
