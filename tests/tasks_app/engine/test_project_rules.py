"""Binding rules in the instructions of a project: lines that begin with “Rule:”."""

import pytest

from tasks_app import services
from tasks_app.models import Project
from tests import factories
from tests.tasks_app.engine.conftest import Run, result, script

BINDING = "stand above what the person says"


@pytest.mark.parametrize(
    ("instructions", "is_binding"),
    [
        ("Write short letters.\n- Rule: Prices are never promised.", True),
        ("Rule: No discounts.", True),
        ("As a rule: be short.", False),
    ],
)
def test_a_rule_stands_above_what_a_person_says(owner, instructions, is_binding):
    project = Project.objects.create(owner=owner, name="Sales", instructions=instructions)
    session = factories.SessionFactory(owner=owner, project=project, model=factories.scripted_model("script"))
    run = Run(services.post_message(session, owner, script(result())).task)
    run.advance()
    (text,) = [entry.content for entry in run.entries if "<project_instructions>" in entry.content]
    assert (BINDING in text) is is_binding
    assert instructions in text
