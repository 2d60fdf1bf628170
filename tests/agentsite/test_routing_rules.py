"""Routing rules are set up in the admin or by the configuration file; their list says what came of them."""

import pytest

from agentsite.configuration import ConfigurationError
from tasks_app.models import FiredRule, RoutingRule
from tests import factories

ADD = "/admin/tasks_app/routingrule/add/"


def form(**fields):
    given = {"name": "research", "enabled": "on", "match": "words", "pattern": "look up", "closeness": "0.5"}
    inline = {"fired-TOTAL_FORMS": 0, "fired-INITIAL_FORMS": 0}
    return {**given, "target": "", "target_name": "", "text": "Name your sources.", **inline, **fields}


def test_the_list_says_which_rule_fired_how_often_and_what_came_of_it(browser):
    assert browser.post(ADD, form(target="skill", target_name="sources")).status_code == 302
    rule = RoutingRule.objects.get()
    task = factories.TaskFactory()
    FiredRule.objects.create(rule=rule, task=task)
    page = browser.get("/admin/tasks_app/routingrule/").content.decode()
    assert "Skill sources" in page
    shown = browser.get(f"/admin/tasks_app/routingrule/{rule.pk}/change/").content.decode()
    assert "Tasks in which it fired: 1; 0 done, 0 failed; sources was then used in 0." in shown


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"match": "regex", "pattern": "(a"}, "This is no regular expression"),
        ({"target": "skill"}, "Choose what is meant"),
        ({"text": ""}, "needs a text"),
    ],
)
def test_the_admin_says_what_is_wrong(browser, fields, words):
    assert words in browser.post(ADD, form(**fields)).content.decode()
    assert not RoutingRule.objects.exists()


FILE = """
routing:
  - {name: research, pattern: "look up", text: Name your sources.}
  - {name: issue, match: regex, pattern: 'fix #[0-9]+', target: workflow, target_name: Release}
"""


def test_the_file_sets_rules_up(configure):
    assert configure(FILE) == ["routing rule research: created", "routing rule issue: created"]
    assert configure(FILE) == []
    assert configure(FILE.replace("match: regex", "match: words")) == ["routing rule issue: match regex → words"]


def test_a_mistake_names_its_line(configure):
    with pytest.raises(ConfigurationError, match="no regular expression"):
        configure("routing: [{name: a, match: regex, pattern: '(', text: x}]\n")
