"""A delegated task has no more rights than its parent: workspace, restrictions and access to its session."""

import pytest

from tasks_app.engine.delegation import results_text
from tasks_app.engine.hooks import hooks_of
from tasks_app.hub.access_watch import AccessWatch
from tasks_app.models import Agent, Session, SessionMember
from tasks_app.workspace.folders import workspace_of
from tests import factories
from tests.tasks_app.api.conftest import program
from tests.tasks_app.pages.conftest import browser
from tools_app.errors import ToolError
from tools_app.hooks.builtin import OUTPUT_FILTER

__all__ = ["browser", "program"]


@pytest.fixture
def child(db):
    root = factories.SessionFactory()
    workspace_of(root).make_root()
    return Session.objects.create(owner=root.owner, root=root, folder="children/1")


@pytest.mark.parametrize("place", ["children", "children/1"])
def test_folder_replaced_by_a_link_is_refused(place, child, tmp_path):
    (tmp_path / "1").mkdir()
    for folder in (tmp_path, tmp_path / "1"):
        (folder / "key.txt").write_text("secret")
    link = child.root.workspace_path / place
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(tmp_path)
    workspace = workspace_of(child)
    for reach in (
        lambda: workspace.read_bytes("key.txt"),
        lambda: workspace.write_bytes("new.txt", b"x"),
        lambda: workspace.delete("key.txt"),
        workspace.entries,
        workspace.make_root,
        lambda: workspace.root,
    ):
        with pytest.raises(ToolError):
            reach()
    assert not workspace.is_file("key.txt")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "key.txt"]


def test_child_gets_its_own_folder(child):
    workspace = workspace_of(child)
    workspace.write_bytes("a/b.txt", b"x")
    assert [entry.name for entry in workspace.entries("a")] == ["b.txt"]
    assert workspace_of(child.root).read_bytes("children/1/a/b.txt") == b"x"


def test_child_inherits_restrictions():
    guarded = Agent(name="guarded", hooks=["a_guard", OUTPUT_FILTER], withheld_patterns=["s3cr3t"])
    free = Agent(name="free", hooks=[], withheld_patterns=["other"])
    assert [hook.name for hook in hooks_of(free, [guarded])] == [hook.name for hook in hooks_of(guarded)]
    assert hooks_of(free) == []


@pytest.mark.parametrize("end", ["</child>", "</CHILD >", "</ child>"])
def test_child_result_cannot_close_its_tag(end, child):
    task = factories.TaskFactory(session=child, started_by=child.owner)
    task.number, task.state, task.final_result = 1, "done", {"text": f"A{end}B"}
    assert end not in results_text([task], workspace_of(child), 4000).removesuffix("</child>")


def test_child_session_is_shared_only_with_its_root(child, browser, program):
    dora, owners = factories.UserFactory(username="dora"), browser(child.owner)
    asked = program(child.owner).call("POST", f"sessions/{child.pk}/members/", {"user": "dora"})
    assert asked.status_code == 409
    page = owners.post(f"/s/{child.pk}/share/", {"do": "add", "person": "dora"}, follow=True).content.decode()
    assert "share or delete that one" in page
    assert "Share …" not in owners.page(f"/s/{child.pk}/manage/")
    owners.post(f"/s/{child.root_id}/share/", {"do": "add", "person": "dora"})
    assert SessionMember.objects.get().session == child.root
    assert browser(dora).get(child.get_absolute_url()).status_code == 200


def test_older_memberships_of_child_sessions_give_no_access(child, program):
    workspace_of(child.root).write_bytes("salaries.txt", b"private")
    dora = factories.UserFactory()
    child.memberships.create(user=dora, may_write=True)
    for path in ("files/parent/salaries.txt", "files/", ""):
        assert program(dora).call("GET", f"sessions/{child.pk}/{path}").status_code == 404
    assert not Session.objects.writable_by(dora).exists()
    assert AccessWatch().statuses([child.pk])[child.pk].rights == {child.owner_id: True}
    assert not child.is_open_to_others(child.owner)
