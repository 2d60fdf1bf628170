"""The gallery of agents: visibility by role, pictures, and agents from templates."""

from io import BytesIO

import pytest
from django.contrib.auth.models import Group
from django.core.files.uploadedfile import SimpleUploadedFile
from PIL import Image

from tasks_app.engine import delegation
from tasks_app.engine.capabilities.skills import catalogue
from tasks_app.engine.prompt.build import preview
from tasks_app.models import Agent, AgentPicture, AgentVersion, Session, agent_templates
from tests import factories
from tools_app.contract import registry

TEMPLATES = agent_templates.load_all()


def test_users_see_and_choose_agents_of_their_roles(alices, alice, session):
    role = Group.objects.create(name="analysts")
    clerk = Agent.objects.create(name="Clerk", description="Files <things>.\nAnd more.")
    clerk.roles.add(role)
    assert "Clerk" not in alices.page("/agents/")
    alices.htmx(f"{session.get_absolute_url()}change/", {"agent": "Clerk"})
    session.refresh_from_db()
    assert session.agent is None
    alice.groups.add(role)
    page = alices.page("/agents/")
    assert "Files &lt;things&gt;." in page
    assert "data:image/svg+xml," in page
    assert "New from a template" not in page
    assert 'selected><img src="data:' in alices.page("/?agent=Clerk")
    alices.htmx(f"{session.get_absolute_url()}change/", {"agent": "Clerk"})
    alice.groups.clear()
    answer = alices.htmx(f"{session.get_absolute_url()}messages/", {"content": "File it.", "key": "1"})
    assert "You may not use this session&#x27;s agent." in answer.content.decode()


def test_model_knows_agents_of_the_users_roles(alice):
    role, lead = Group.objects.create(name="analysts"), Agent.objects.create(name="Lead", delegates=True)
    Agent.objects.create(name="Clerk").roles.add(role)
    assert [name for name, _ in delegation.visible_agents(lead, alice.pk)] == ["Lead"]
    alice.groups.add(role)
    assert [name for name, _ in delegation.visible_agents(lead, alice.pk)] == ["Clerk", "Lead"]


@pytest.mark.parametrize("mode", ["queue", "interject", "steer"])
def test_running_task_of_a_restricted_agent_refuses_messages(mode, alices, alice, session):
    clerk = Agent.objects.create(name="Clerk")
    clerk.roles.add(Group.objects.create(name="analysts"))
    Session.objects.update(agent=clerk)
    factories.TaskFactory(session=session, state="thinking")
    content = {"content": "File it.", "mode": mode, "key": "1"}
    answer = alices.htmx(f"{session.get_absolute_url()}messages/", content)
    assert "You may not use this session&#x27;s agent." in answer.content.decode()
    assert not session.inbox.exists()


@pytest.mark.parametrize("key", sorted(TEMPLATES))
def test_template_becomes_an_agent(admin_client, admin_user, key):
    template = TEMPLATES[key]
    form = admin_client.get("/admin/tasks_app/agent/add/", {"template": key}).context["adminform"].form
    assert form.initial["instructions"] == template.values["instructions"]
    agent = Agent(**template.values)
    agent.full_clean()
    agent.save()
    assert set(agent.skills) <= dict(catalogue(admin_user.pk)).keys()
    assert set(agent.denied_tools) <= {tool.name for tool in registry.all_tools()}
    sections = {section.name: section.text for section in preview(agent, admin_user)}
    assert agent.instructions.strip() in sections["instructions"]
    assert key in admin_client.get("/agents/").content.decode()


def test_uploaded_picture_is_encoded_again(admin_client, alices):
    Image.new("RGB", (900, 600), "teal").save(file := BytesIO(), "JPEG", comment=b"<script>")
    rows = {"sections-TOTAL_FORMS": 0, "sections-INITIAL_FORMS": 0, "denied_tools": "[]", "name": "Clerk"}
    upload = SimpleUploadedFile("face.jpg", file.getvalue())
    answer = admin_client.post("/admin/tasks_app/agent/add/", rows | {"upload": upload})
    assert answer.status_code == 302, answer.context["errors"]
    shown = alices.get(Agent.objects.get().picture_url)
    assert b"<script>" not in shown.content
    assert Image.open(BytesIO(shown.content)).size == (192, 128)
    assert AgentVersion.objects.count() == 1
    fake = SimpleUploadedFile("face.png", b"<svg onload=alert(1)>")
    refused = admin_client.post("/admin/tasks_app/agent/add/", rows | {"name": "Other", "upload": fake})
    assert "This picture cannot be used" in refused.content.decode()


def test_picture_is_visible_to_users_who_can_see_the_agent(alices, alice, browser, bob, session):
    role, clerk = Group.objects.create(name="analysts"), Agent.objects.create(name="Clerk")
    clerk.roles.add(role)
    encoded = BytesIO()
    Image.new("RGB", (8, 8)).save(encoded, "PNG")
    AgentPicture.thumbnail(encoded.getvalue()).assign_to(clerk)
    address = f"/agents/{clerk.pk}/picture/"
    assert alices.get(address).status_code == 404
    alice.groups.add(role)
    assert alices.get(address)["Content-Type"] == "image/png"
    bobs = browser(bob)
    session.memberships.get_or_create(user=bob)
    assert bobs.get(address).status_code == 404
    Session.objects.update(agent=clerk)
    assert bobs.get(address).status_code == 200


def test_helper_agents_are_tools_only_for_permitted_users(alice):
    chief = Agent.objects.create(name="Chief", helpers=["clerk"])
    role = Group.objects.create(name="analysts")
    Agent.objects.create(name="clerk").roles.add(role)
    assert delegation.helper_tools(chief, alice.pk) == []
    alice.groups.add(role)
    assert [tool.name for tool in delegation.helper_tools(chief, alice.pk)] == ["ask_clerk"]
