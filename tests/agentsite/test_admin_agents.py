"""Agents in the admin: immutable versions of prompt sections, and a view of the entire prompt."""

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from tasks_app.models import Agent, AgentVersion, PromptSection, Workflow


@pytest.fixture
def agent(db):
    return Agent.objects.create(name="Clerk")


def page(agent):
    return reverse("admin:tasks_app_agent_change", args=[agent.pk])


def form(browser, address):
    """Return the present fields of the page's form, without the rows of its inlines."""
    fields = dict(browser.get(address).context["adminform"].form.initial)
    return {name: value for name, value in fields.items() if value not in (None, False)} | {
        "denied_tools": "[]",
        "withheld_patterns": "",
    }


def versions(*rows, initial=0):
    given = {"sections-TOTAL_FORMS": initial + len(rows), "sections-INITIAL_FORMS": initial}
    for number, row in enumerate(rows, initial):
        given |= {f"sections-{number}-{name}": value for name, value in row.items()}
    return given


def test_new_version_has_an_author_and_keeps_the_older_one(browser, root, agent):
    for text in ("You are a clerk.", "You are a baker."):
        row = {"section": "identity", "text": text, "agent": agent.pk}
        data = form(browser, page(agent)) | versions(row, initial=PromptSection.objects.count())
        for number, old in enumerate(PromptSection.objects.all()):
            data |= {f"sections-{number}-id": old.pk, f"sections-{number}-text": "altered"}
        answer = browser.post(page(agent), data)
        assert answer.status_code == 302, answer.context["errors"]
    newest, oldest = PromptSection.objects.all()
    assert (oldest.text, newest.text) == ("You are a clerk.", "You are a baker.")
    assert newest.author == root
    assert PromptSection.objects.texts_of(agent) == (("identity", "You are a baker."),)


def test_entire_prompt_is_shown_with_the_origin_of_each_section(browser, root, agent):
    PromptSection.objects.create(agent=agent, section="identity", text="You are <b>a clerk</b>.", author=root)
    for mode, sign in [("native", "Arguments are one complete JSON object"), ("json", "&quot;tool&quot;"), ("?", "")]:
        shown = browser.get(reverse("admin:tasks_app_agent_prompt", args=[agent.pk]), {"mode": mode}).content.decode()
        assert "You are &lt;b&gt;a clerk&lt;/b&gt;." in shown
        assert "in the words of root" in shown
        assert "&lt;guardrails&gt;" in shown
        assert sign in shown


def test_prompt_needs_view_permission(browser, agent):
    clerk = get_user_model().objects.create_user("clerk", is_staff=True)
    client = Client()
    client.force_login(clerk, backend="allauth.account.auth_backends.AuthenticationBackend")
    assert client.get(reverse("admin:tasks_app_agent_prompt", args=[agent.pk])).status_code in (403, 404)
    assert browser.get(reverse("admin:tasks_app_agent_prompt", args=[agent.pk + 1])).status_code == 404


def test_new_default_agent_replaces_the_old_one_and_can_be_unset(browser, agent):
    Agent.objects.create(name="Old", is_default=True)
    for default in (agent, None):
        chosen = {"action": "switch_default", "_selected_action": [agent.pk]}
        browser.post(reverse("admin:tasks_app_agent_changelist"), chosen)
        assert Agent.objects.default() == default


def test_workflow_steps_are_stored_in_order(browser):
    rows = {"steps-TOTAL_FORMS": 2, "steps-INITIAL_FORMS": 0}
    for number, (title, position) in enumerate([("Tell", 2), ("Look", 1)]):
        rows |= {
            f"steps-{number}-title": title,
            f"steps-{number}-instructions": f"{title}.",
            f"steps-{number}-position": position,
        }
    answer = browser.post(reverse("admin:tasks_app_workflow_add"), {"name": "Release", **rows})
    assert answer.status_code == 302
    steps = Workflow.objects.usable().get().definition()["steps"]
    assert [step["title"] for step in steps] == ["Look", "Tell"]


def test_environments_must_be_program_folders_and_have_a_line_each(browser, agent):
    for given, is_taken in (("/usr", True), ("/usr\n/nowhere/at/all", False), ("", True)):
        answer = browser.post(page(agent), form(browser, page(agent)) | versions() | {"environments": given})
        assert (answer.status_code == 302) == is_taken
        if not is_taken:
            assert b"/nowhere/at/all is not a folder of this server" in answer.content
            agent.refresh_from_db()
            assert agent.environments == ["/usr"]
    agent.refresh_from_db()
    assert agent.environments == []


def test_saving_a_form_adds_one_version_with_its_author(browser, root, agent):
    row = {"section": "identity", "text": "You are a clerk.", "agent": agent.pk}
    for description in ("Files.", "Files."):
        answer = browser.post(page(agent), form(browser, page(agent)) | {"description": description} | versions(row))
        assert answer.status_code == 302, answer.context["errors"]
        row["text"] = ""
    last, second, first = AgentVersion.objects.all()
    assert (first.author, first.content["description"]) == (None, "")
    assert (second.author, second.content["description"]) == (root, "Files.")
    assert second.content["sections"] == {"identity": "You are a clerk."}
    assert last.content["sections"] == {}
    browser.post(page(agent), form(browser, page(agent)) | versions())
    assert AgentVersion.objects.count() == 3, "what changes nothing is no version"


def test_versions_list_their_changes_and_are_restored_after_confirmation(browser, root, agent):
    PromptSection.objects.create(agent=agent, section="identity", text="You are <b>a clerk</b>.\nYou file.")
    first = AgentVersion.objects.current(agent)
    PromptSection.objects.create(agent=agent, section="identity", text="You are a baker.\nYou file.")
    second = AgentVersion.objects.current(agent)
    listing = reverse("admin:tasks_app_agentversion_changelist")
    assert "prompt: identity" in browser.get(listing).content.decode()
    shown = browser.get(reverse("admin:tasks_app_agentversion_change", args=[second.pk])).content.decode()
    assert '<span class="diff-removed">-You are &lt;b&gt;a clerk&lt;/b&gt;.</span>' in shown
    assert '<span class="diff-added">+You are a baker.</span>' in shown
    question = reverse("admin:tasks_app_agentversion_put_back", args=[first.pk])
    assert '<span class="diff-removed">-You are a baker.</span>' in browser.get(question).content.decode()
    assert dict(PromptSection.objects.texts_of(agent))["identity"].startswith("You are a baker"), "only asked"
    answer = browser.post(question, follow=True).content.decode()
    assert "Restored version 1 of Clerk." in answer
    assert dict(PromptSection.objects.texts_of(agent))["identity"].startswith("You are <b>a clerk")
    assert AgentVersion.objects.first().author == root


def test_restoring_a_version_needs_change_permission(client, agent):
    version = AgentVersion.objects.current(agent)
    clerk = get_user_model().objects.create_user("clerk", is_staff=True)
    clerk.user_permissions.add(Permission.objects.get(codename="view_agentversion"))
    client.force_login(clerk, backend="allauth.account.auth_backends.AuthenticationBackend")
    address = reverse("admin:tasks_app_agentversion_put_back", args=[version.pk])
    assert client.get(address).status_code == client.post(address).status_code == 404
    assert b"Put back" not in client.get(reverse("admin:tasks_app_agentversion_changelist")).content
