"""Tools of roles and users, approvers and hooks in the configuration file."""

from typing import Any

import pytest

from agentsite.accounts.models import User
from agentsite.configuration import ConfigurationError
from tasks_app.models import Agent, Limits
from tests import factories
from tools_app.models import McpServer, ToolSetting
from tools_app.policy import policy_for

FILE = """\
    roles:
      - name: reviewers
      - {name: interns, tools: {deny: [browser], approvals: {shell: always}}}
    tools:
      - {name: shell, approvers: reviewers, four_eyes: true}
    users:
      - {username: ada, roles: [interns], tools: {deny: [files__delete]}}
    limits: {approval_hours: 2}
    agents:
      - name: careful
        safe_mode: true
        self_verification: true
        termination_review: true
        review_model: small
        withheld_patterns: ['EMP-\\d+']
    """


def test_policy_is_applied_once(configure: Any) -> None:
    small = factories.LogicalModelFactory(name="small")
    configure(FILE)
    assert configure(FILE) == []
    setting = ToolSetting.objects.get(name="shell")
    assert (str(setting.approvers), setting.four_eyes) == ("reviewers", True)
    policy = policy_for(User.objects.get(username="ada").pk)
    assert not policy.allows("browser")
    assert not policy.allows("files__delete")
    assert policy.roles[0].approvals == {"shell": "always"}
    assert Limits.current().approval_hours == 2
    agent = Agent.objects.get()
    assert agent.hooks == ["safe_mode", "self_verification", "termination_review", "output_filter"]
    assert agent.review_model == small
    assert agent.withheld_patterns == [r"EMP-\d+"]


def test_tools_are_opened_to_roles_and_default_role_is_set(configure: Any) -> None:
    text = """\
        roles: [{name: engineers}, {name: guests, default: true, tools: {deny: [browser]}}]
        tools: [{name: shell, roles: [engineers]}]
        mcp_servers: [{name: ci, transport: stdio, command: [x], roles: [engineers], loop_exempt: [status]}]
        users: [{username: ada}]
        """
    changed = configure(text)
    assert "tool shell: roles [] → [engineers]" in changed
    assert "MCP server ci: roles [] → [engineers]" in changed
    assert "role guests: is the default role" in changed
    assert configure(text) == []
    policy = policy_for(User.objects.get(username="ada").pk)
    assert [policy.allows(name) for name in ("shell", "browser", "file")] == [False, False, True]
    assert McpServer.objects.get().loop_exempt == ["status"]
    assert configure("roles: [{name: engineers, default: true}]\n") == ["role engineers: is the default role"]
    assert configure("roles: [{name: engineers, default: false}]\n") == [
        "role engineers: is no longer the default role"
    ]
    assert not User.default_role().exists()
    with pytest.raises(ConfigurationError, match="there is no role called 'ghosts'"):
        configure("tools: [{name: shell, roles: [ghosts]}]\n")


def test_keys_for_single_hooks_change_the_list(configure: Any) -> None:
    configure("agents: [{name: careful, hooks: [safe_mode, self_verification]}]\n")
    assert Agent.objects.get().hooks == ["safe_mode", "self_verification"]
    assert configure("agents: [{name: careful, safe_mode: false, autopilot: true}]\n") == [
        "agent careful: hooks changed"
    ]
    assert Agent.objects.get().hooks == ["self_verification", "autopilot"]
    configure("agents: [{name: careful, withheld_patterns: [secret]}]\n")
    assert Agent.objects.get().hooks == ["self_verification", "autopilot", "output_filter"]


def test_empty_approver_role_removes_the_role(configure: Any) -> None:
    configure("roles: [{name: reviewers}]\ntools: [{name: shell, approvers: reviewers}]\n")
    configure("tools: [{name: shell, approvers: }]\n")
    assert ToolSetting.objects.get().approvers is None


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("tools: [{name: shell, approvers: nobody}]\n", "there is no role called 'nobody'"),
        ("agents: [{name: a, review_model: nobody}]\n", "there is no model called 'nobody'"),
        ("agents: [{name: a, hooks: [saef_mode]}]\n", "there is no hook called 'saef_mode'; there are safe_mode, "),
        ("agents: [{name: a, withheld_patterns: ['(']}]\n", "no regular expression"),
        ("roles: [{name: a, tools: {approvals: {shell: sometimes}}}]\n", "never"),
    ],
)
def test_contradictory_policy_is_a_mistake(text: str, complaint: str, configure: Any) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        configure(text)
