"""The deletion of roles: rows that are open to a role alone protect it, so that they never open to everyone."""

from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db.models import CASCADE, ProtectedError
from django.test import Client
from django.urls import reverse

from llm_app.models import LogicalModel, Secret
from tasks_app.models import Agent
from tests import factories
from tools_app.models import McpServer, McpTool, Skill, ToolSetting
from tools_app.policy import policy_for

LIST = reverse("admin:auth_group_changelist")


@pytest.fixture
def role(db: None) -> Group:
    return Group.objects.create(name="finance")


@pytest.fixture
def restricted(role: Group) -> list[Any]:
    """One row of each kind that roles restrict."""
    server = McpServer.objects.create(name="ledger", transport="streamable_http", url="http://ledger/")
    McpTool.objects.create(server=server, name="pay", schema="{}", digest="x", confirmed="x")
    rows: list[Any] = [
        ToolSetting.objects.create(name="shell"),
        server,
        Skill.objects.create(name="booking", description="Books.", body="Book."),
        Agent.objects.create(name="Auditor"),
        LogicalModel.objects.create(name="costly"),
    ]
    for row in rows:
        row.roles.add(role)
    return rows


def open_to(user: Any) -> list[bool]:
    return [
        policy_for(user.pk).allows("shell"),
        McpTool.objects.usable_by(user.pk).exists(),
        Skill.objects.usable_by(user.pk).exists(),
        Agent.objects.usable_by(user.pk).exists(),
        LogicalModel.objects.visible_to(user.pk).filter(name="costly").exists(),
    ]


def delete_chosen(browser: Client, *roles: Group) -> Any:
    given = {"action": "delete_selected", "_selected_action": [role.pk for role in roles], "post": "yes"}
    return browser.post(LIST, given)


def test_admin_cannot_delete_a_role_that_restricts_rows(role: Group, restricted: list[Any], browser: Client) -> None:
    eve = factories.UserFactory(username="eve")
    answers = [browser.post(reverse("admin:auth_group_delete", args=[role.pk]), {"post": "yes"})]
    answers.append(delete_chosen(browser, role))
    for page in (answer.content.decode() for answer in answers):
        assert all(str(row) in page for row in restricted)
    assert Group.objects.filter(pk=role.pk).exists()
    assert not any(open_to(eve))


@pytest.mark.parametrize("kind", range(5))
def test_each_kind_of_row_protects_its_last_role(kind: int, role: Group, restricted: list[Any]) -> None:
    for row in restricted:
        row.roles.clear()
    restricted[kind].roles.add(role)
    for delete in (role.delete, Group.objects.all().delete):
        with pytest.raises(ProtectedError) as refusal:
            delete()
        assert refusal.value.protected_objects == {restricted[kind]}
    restricted[kind].roles.clear()
    role.delete()


def test_all_roles_but_the_last_can_be_deleted(role: Group, restricted: list[Any], browser: Client) -> None:
    second = Group.objects.create(name="second")
    for row in restricted:
        row.roles.add(second)
    delete_chosen(browser, role, second)
    assert Group.objects.count() == 2
    delete_chosen(browser, role)
    assert [list(row.roles.all()) for row in restricted] == [[second]] * 5


def test_restricted_rows_can_be_deleted_before_their_role(role: Group, restricted: list[Any], browser: Client) -> None:
    for row in restricted:
        row.delete()
    browser.post(reverse("admin:auth_group_delete", args=[role.pk]), {"post": "yes"})
    assert not Group.objects.exists()


def test_all_relations_that_open_without_roles_are_protected() -> None:
    """Other relations are safe: a secret without roles is only for administrators, a user has the default role."""
    relations = [each for model in apps.get_models() for each in model._meta.many_to_many]
    between: list[Any] = [each.remote_field.through for each in relations if each.related_model is Group]
    unguarded = {each for each in between if each._meta.get_field("group").remote_field.on_delete is CASCADE}
    assert unguarded == {get_user_model().groups.through, Secret.roles.through}
