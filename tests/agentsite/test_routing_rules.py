"""Routing rules in the admin and in the configuration file, and the effects that their list shows."""

import pytest

from agentsite.configuration import ConfigurationError, create_shipped_rules, installation
from tasks_app.engine import routing
from tasks_app.models import FiredRule, RoutingRule
from tests import factories

SHIPPED = [
    *("code", "code with tests", "data analysis", "research", "slides", "web application", "work on a web page"),
    "writing",
]
ADD = "/admin/tasks_app/routingrule/add/"


def form(**fields):
    given = {"name": "research", "enabled": "on", "match": "words", "pattern": "look up", "closeness": "0.5"}
    inline = {"fired-TOTAL_FORMS": 0, "fired-INITIAL_FORMS": 0}
    return {**given, "target": "", "target_name": "", "text": "Name your sources.", **inline, **fields}


def test_list_shows_how_often_rules_fired_and_their_effect(browser):
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
def test_admin_explains_mistakes(browser, fields, words):
    assert words in browser.post(ADD, form(**fields)).content.decode()
    assert not RoutingRule.objects.exists()


FILE = """
routing:
  - {name: research, pattern: "look up", text: Name your sources.}
  - {name: issue, match: regex, pattern: 'fix #[0-9]+', target: workflow, target_name: Release}
"""


def test_file_creates_rules(configure):
    assert configure(FILE) == ["routing rule research: created", "routing rule issue: created"]
    assert configure(FILE) == []
    assert configure(FILE.replace("match: regex", "match: words")) == ["routing rule issue: match regex → words"]


def test_mistake_in_a_rule_has_its_line(configure):
    with pytest.raises(ConfigurationError, match="no regular expression"):
        configure("routing: [{name: a, match: regex, pattern: '(', text: x}]\n")


def test_shipped_rules_are_created_once_and_keep_changes(db, tmp_path, monkeypatch):
    create_shipped_rules()
    assert set(SHIPPED) == set(RoutingRule.objects.filter(enabled=True).values_list("name", flat=True))
    RoutingRule.objects.filter(name="research").update(enabled=False)
    RoutingRule.objects.filter(name="code").delete()
    newer = tmp_path / "newer.yml"
    newer.write_text(installation.SHIPPED_RULES.read_text().replace("text: >-\n", "text: >-\n      New words.\n"))
    monkeypatch.setattr(installation, "SHIPPED_RULES", newer)
    create_shipped_rules()
    now = dict(RoutingRule.objects.values_list("name", "text"))
    assert set(SHIPPED) - {"code"} == now.keys()
    assert [name for name, text in now.items() if not text.startswith("New words.")] == ["research"]


def test_rule_of_the_file_replaces_a_shipped_one(configure):
    configure(FILE)
    create_shipped_rules()
    assert RoutingRule.objects.get(name="research").text == "Name your sources."
    configure("routing: [{name: slides, pattern: slide, text: Few words., enabled: false}]")
    assert not RoutingRule.objects.get(name="slides").enabled


@pytest.mark.parametrize(
    ("message", "names"),
    [
        ("Research the tides in Brest and write a report.", ["research", "writing"]),
        ("Recherchiere bitte, welche Quellen es gibt", ["research"]),
        ("Fix the bug in the importer", []),
        ("Make slides of this spreadsheet", ["slides"]),
        ("Build me a small web app", ["web application"]),
        ("Log in to the portal and fill out the form", ["work on a web page"]),
        ("Compare these two laptops, please", ["research"]),
        ("Add comparisons (<, <=, ==) to the parser, with tests.", []),
        ("What is 17 times 23?", []),
        ("Thank you!", []),
        ("When is the next meeting with Paula?", []),
    ],
)
def test_shipped_rules_fire_only_for_matching_work(db, message, names):
    create_shipped_rules()
    assert [rule.name for rule in RoutingRule.objects.all() if routing._matches(rule, message)] == names


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["README.md", "src/", "src/main.rs"], ["code"]),
        (["app.py", "tests/", "tests/test_app.py"], ["code", "code with tests"]),
        (["uploads/", "uploads/Sales 2026.CSV"], ["data analysis"]),
        (["contest/", "notes.md", "latest.txt"], []),
        ([], []),
    ],
)
def test_shipped_rules_for_files_fire_by_the_workspace(db, paths, names):
    create_shipped_rules()
    assert [rule.name for rule in RoutingRule.objects.all() if routing._matches_files(rule, paths)] == names
