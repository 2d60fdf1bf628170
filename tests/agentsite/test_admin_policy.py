"""The tool policy in the admin by role, user, agent and session: existing tools are ticked, future ones written."""

from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.urls import reverse

from tasks_app.models import Agent
from tests import factories
from tools_app.models import PACKAGE_HOSTS, RolePolicy, ToolSetting, UserPolicy

EMPTY = {"allow_1": "", "deny_1": "", "approvals": ""}


def save(browser: Client, address: str, **fields: Any) -> Any:
    return browser.post(address, fields)


def errors(response: Any) -> str:
    return str(response.context["adminform"].form.errors)


def add(model: str) -> str:
    return reverse(f"admin:{model}_add")


def test_role_tools_are_ticked_or_written(browser: Client) -> None:
    role = Group.objects.create(name="analysts")
    address = add("tools_app_rolepolicy")
    given = EMPTY | {"role": role.pk, "deny_0": ["shell"], "deny_1": "files__write, files__delete"}
    save(browser, address, **given | {"approvals": "file: always\nshell: never\n"})
    policy = RolePolicy.objects.get()
    assert policy.deny == ["files__delete", "files__write", "shell"]
    assert policy.allow == []
    assert policy.approvals == {"file": "always", "shell": "never"}
    page = browser.get(reverse("admin:tools_app_rolepolicy_change", args=[policy.pk])).content.decode()
    assert "files__delete, files__write" in page
    assert "file: always" in page


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [({"approvals": "file: sometimes"}, "is not one of"), ({"deny_1": "rm -rf"}, "names may contain only letters")],
)
def test_contradictory_policies_are_rejected(fields: dict[str, str], complaint: str, browser: Client) -> None:
    role = Group.objects.create(name="analysts")
    response = save(browser, add("tools_app_rolepolicy"), **EMPTY | {"role": role.pk} | fields)
    assert complaint in errors(response)
    assert not RolePolicy.objects.exists()


def test_tool_shows_its_built_in_and_its_configured_danger(browser: Client) -> None:
    reviewers = Group.objects.create(name="reviewers")
    fields = {"name": "shell", "enabled": "on", "approval": "always", "approvers": reviewers.pk, "four_eyes": "on"}
    save(browser, add("tools_app_toolsetting"), **fields)
    setting = ToolSetting.objects.get()
    assert (setting.approvers, setting.four_eyes) == (reviewers, True)
    page = browser.get(reverse("admin:tools_app_toolsetting_changelist")).content.decode()
    assert "moderate" in page
    save(browser, add("tools_app_toolsetting"), name="server__tool", approval="never")
    page = browser.get(reverse("admin:tools_app_toolsetting_changelist")).content.decode()
    assert "not available now" in page
    assert "There is no tool called server__tool now." in page
    assert "no tool called shell" not in page


def test_user_page_has_denied_tools(browser: Client) -> None:
    user = factories.UserFactory(username="ada")
    address = reverse("admin:accounts_user_change", args=[user.pk])
    assert "tool_policy-0-deny_0" in browser.get(address).content.decode()
    form = browser.get(address).context["adminform"].form
    fields = {name: form[name].value() for name in form.fields if form[name].value() not in (None, False)}
    joined = user.date_joined
    given = {"date_joined_0": f"{joined:%Y-%m-%d}", "date_joined_1": f"{joined:%H:%M:%S}"}
    inline = {"tool_policy-TOTAL_FORMS": 1, "tool_policy-INITIAL_FORMS": 0, "tool_policy-0-deny_0": ["shell"]}
    save(browser, address, **fields | given | inline | {"tool_policy-0-deny_1": ""})
    assert UserPolicy.objects.get(user=user).deny == ["shell"]


def test_agent_hooks_are_saved_together(browser: Client) -> None:
    fields = {"name": "Careful", "hooks": ["safe_mode", "termination_review"], "denied_tools_0": ["shell"]}
    sections = {"sections-TOTAL_FORMS": 0, "sections-INITIAL_FORMS": 0}
    response = save(browser, add("tasks_app_agent"), **fields, **sections, withheld_patterns="EMP-\\d+\n\nsecret(")
    assert "Line 2 is not a regular expression" in errors(response)
    save(browser, add("tasks_app_agent"), **fields, **sections, withheld_patterns="EMP-\\d+\n")
    agent = Agent.objects.get()
    assert agent.hooks == ["safe_mode", "termination_review", "output_filter"]
    assert agent.safe_only
    assert (agent.denied_tools, agent.withheld_patterns) == (["shell"], ["EMP-\\d+"])


def test_session_can_deny_a_tool(browser: Client) -> None:
    session = factories.SessionFactory()
    members = {"memberships-TOTAL_FORMS": 0, "memberships-INITIAL_FORMS": 0}
    address = reverse("admin:tasks_app_session_change", args=[session.pk])
    save(browser, address, title="x", denied_tools_0=["shell"], denied_tools_1="", **members)
    session.refresh_from_db()
    assert session.denied_tools == ["shell"]


def test_allowed_hosts_of_commands_have_a_line_each(browser: Client) -> None:
    address, given = add("tools_app_toolsetting"), {"name": "shell", "enabled": "on", "approval": "by_danger"}
    assert "is no host" in errors(save(browser, address, **given, hosts="https://pypi.org/simple"))
    save(browser, address, **given, hosts="pypi.org\n*.pythonhosted.org\n")
    setting = ToolSetting.objects.get()
    assert setting.hosts == ["pypi.org", "*.pythonhosted.org"]
    page = browser.get(reverse("admin:tools_app_toolsetting_change", args=[setting.pk])).content.decode()
    assert "pypi.org\n*.pythonhosted.org" in page


def test_one_switch_lets_commands_install_packages(browser: Client) -> None:
    given = {"name": "shell", "enabled": "on", "approval": "by_danger"}
    save(browser, add("tools_app_toolsetting"), **given, can_install_packages="on", hosts="wiki.example.org")
    setting = ToolSetting.objects.get()
    assert setting.hosts == ["wiki.example.org", *PACKAGE_HOSTS]
    address = reverse("admin:tools_app_toolsetting_change", args=[setting.pk])
    form = browser.get(address).context["adminform"].form
    assert (form["can_install_packages"].value(), form["hosts"].value()) == (True, "wiki.example.org")
    save(browser, address, **given, hosts="wiki.example.org")
    assert ToolSetting.objects.get().hosts == ["wiki.example.org"]
    save(browser, address, **given, can_install_packages="on", hosts="*")
    assert ToolSetting.objects.get().hosts == ["*"]


def test_list_has_all_tools_even_unchanged_ones(browser: Client) -> None:
    ToolSetting.objects.create(name="shell", approval="always")
    page = browser.get(reverse("admin:tools_app_toolsetting_changelist")).content.decode()
    address = f"{add('tools_app_toolsetting')}?name="
    assert f"{address}file" in page
    assert f"{address}shell" not in page
    assert 'value="file"' in browser.get(f"{address}file").content.decode()
