"""Skills: the prompt has only their names. A load gives text and files, once, and survives compaction."""

import io
import zipfile

import pytest
from django.contrib.auth.models import Group

from llm_app.models import Blob, LLMLog
from tasks_app import services
from tasks_app.engine.capabilities import skills
from tasks_app.engine.compaction.summary import line_of
from tasks_app.models import Loaded
from tasks_app.record.turns import group
from tests import factories
from tests.tasks_app.engine.conftest import Run, call, result, script
from tools_app.models import Skill, SkillFile
from tools_app.skills.skill_files import BadSkill, installed_skills, parse_skill, uploaded_skill

TEXT = "---\nname: folding\ndescription: Fold maps.\n---\nFold along the crease.\n"


@pytest.fixture
def folding(transactional_db):
    skill = Skill.objects.create(name="folding", description="Fold maps.", body="Fold along the crease.")
    SkillFile.objects.create(skill=skill, path="maps/one.txt", content=b"a map")
    return skill


def test_the_shipped_skills_can_be_read():
    assert {"data-analysis", "web-research", "written-report"} <= set(installed_skills())


def test_a_load_gives_text_and_files_and_is_stored(play, folding):
    run = play(
        call("skill", name="folding"), call("file", action="read", path=".skills/folding/maps/one.txt"), result()
    )
    assert run.advance().state == "done"
    assert run.results()[0][1].startswith('<skill name="folding">\nFold along the crease.\n</skill>\nIts files: ')
    assert "a map" in run.results()[1][1]
    assert Loaded.objects.get().name == "folding"


def test_a_second_load_refers_to_the_text_in_view(play, folding):
    run = play(call("skill", name="folding"), call("skill", name="folding"), result())
    run.advance()
    assert run.results()[1][1] == "The skill folding is already loaded: its full text is above."


def test_its_programs_can_be_run(play, folding):
    SkillFile.objects.create(skill=folding, path="fold.sh", content=b"#!/bin/sh\necho folded\n", executable=True)
    run = play(call("skill", name="folding"), call("shell", command=".skills/folding/fold.sh"), result())
    run.advance()
    assert "folded" in run.results()[1][1]
    assert not (run.task.session.workspace_path / ".skills/folding/maps/one.txt").stat().st_mode & 0o111


def test_a_changed_skill_is_loaded_again_with_its_files(play, owner, folding, settings, tmp_path):
    settings.SKILLS_DIR = tmp_path
    folding.delete()
    (tmp_path / "folding").mkdir()
    (tmp_path / "folding" / "SKILL.md").write_text(TEXT)
    (tmp_path / "folding" / "map.txt").write_text("one")
    run = play(call("skill", name="folding"), call("message", type="ask", text="And?"), call("skill", name="folding"),
        call("file", action="read", path=".skills/folding/map.txt"), result())  # fmt: skip
    run.advance()
    (tmp_path / "folding" / "map.txt").write_text("two")
    services.reply(run.task, owner, "again")
    run.advance()
    assert "already loaded" in run.results()[2][1]
    assert "two" in run.results()[3][1]
    (tmp_path / "folding" / "SKILL.md").write_text(TEXT.replace("crease", "edge"))
    again = services.post_message(run.task.session, owner, script(call("skill", name="folding"), result())).task
    Run(again).advance()
    assert "Fold along the edge." in run.results()[5][1]


@pytest.mark.parametrize("length", [1024, 1500, 2048])
def test_a_long_description_is_complete_in_the_prompt(length, transactional_db):
    owner = factories.UserFactory()
    Skill.objects.create(name="long", description="x" * length, body="y")
    assert dict(skills.catalogue(owner.pk))["long"] == "x" * length


def test_the_prompt_has_names_and_descriptions_but_not_the_text(play, folding):
    play(result()).advance()
    system = Blob.objects.get(pk=LLMLog.objects.get().system_blob).content
    assert "- folding: Fold maps." in system
    assert "crease" not in system


def test_a_skill_of_a_role_is_hidden_from_others(play, owner, folding):
    folding.roles.add(Group.objects.create(name="folders"))
    run = play(call("skill", name="folding"), result())
    run.advance()
    assert run.results()[0][1].startswith("There is no skill called 'folding'. The skills are: data-analysis")
    owner.groups.add(Group.objects.get(name="folders"))
    assert "folding" in dict(skills.catalogue(owner.pk))


def test_a_skills_text_survives_compaction_or_can_be_reloaded(play, folding):
    run = play(call("skill", name="folding"), result())
    run.advance()
    turn = next(turn for turn in group(run.entries) if turn.entries[0].call and turn.entries[0].call["name"] == "skill")
    line = line_of(turn, lambda name, arguments: f"{name} {arguments['name']}")
    assert "Fold along the crease." in line.text
    assert not line.is_step
    assert "load it again" in line.short


def zipped(**members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "/"), content)
    return out.getvalue()


def test_an_archive_is_unpacked_without_its_outer_folder():
    skill = uploaded_skill(
        "folding.zip", zipped(**{"folding__SKILL.md": TEXT, "folding__a__b.txt": "x", "other.txt": "y"})
    )
    assert (skill.name, dict(skill.files)) == ("folding", {"a/b.txt": b"x"})


def test_an_archive_with_outside_paths_is_refused():
    skill = uploaded_skill("x.zip", zipped(**{"SKILL.md": TEXT, "..__..__evil": "x"}))
    assert dict(skill.files) == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("no front matter", "begins with front matter"),
        ("---\nname: [\n---\nx", "not YAML"),
        ("---\nname: Has Space\ndescription: x\n---\nx", "small letters"),
        ("---\nname: a\n---\nx", "description"),
        ("---\nname: a\ndescription: b\n---\n", "instructions"),
    ],
)
def test_an_invalid_skill_is_explained(text, said):
    with pytest.raises(BadSkill, match=said):
        parse_skill(text)


def test_an_invalid_archive_is_explained():
    with pytest.raises(BadSkill, match="not a readable zip archive"):
        uploaded_skill("x.zip", b"PK\x03\x04 nonsense")
    with pytest.raises(BadSkill, match=r"no SKILL.md"):
        uploaded_skill("x.zip", zipped(a="b"))
