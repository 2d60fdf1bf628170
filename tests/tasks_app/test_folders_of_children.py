"""A delegated task works in a folder of its parent's workspace, where programs can put links: none leads anywhere."""

import pytest

from tasks_app.models import Session
from tasks_app.workspaces import workspace_of
from tests import factories
from tools_app.errors import ToolError


@pytest.fixture
def child(db):
    root = factories.SessionFactory()
    workspace_of(root).make_root()
    return Session.objects.create(owner=root.owner, root=root, folder="children/1")


@pytest.mark.parametrize("place", ["children", "children/1"])
def test_a_folder_that_became_a_link_is_refused(place, child, tmp_path):
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


def test_a_folder_of_its_own_is_made_and_used(child):
    workspace = workspace_of(child)
    workspace.write_bytes("a/b.txt", b"x")
    assert [entry.name for entry in workspace.entries("a")] == ["b.txt"]
    assert workspace_of(child.root).read_bytes("children/1/a/b.txt") == b"x"
