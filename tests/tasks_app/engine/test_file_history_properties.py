"""Random sequences of calls, uploads, undos, forks and crashes: the changes reproduce the files exactly."""

import hashlib
import os
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from llm_app.models import LogicalModel
from tasks_app import services
from tasks_app.engine import run_tool
from tasks_app.models import FileChange, Session, Task, WorkspaceChange
from tasks_app.runtime import lease
from tasks_app.services import forks
from tasks_app.workspace import file_history, uploads
from tasks_app.workspace.file_history import NothingToPutBack
from tasks_app.workspace.folders import workspace_of
from tests import factories
from tests.tasks_app.engine.conftest import Run, call, result, script
from tests.tasks_app.engine.test_crashes import Killed, die
from tools_app.errors import ToolError
from tools_app.files import FileHistory, snapshot
from tools_app.models import ToolSetting

Files = dict[str, tuple[int, bytes]]  # path → mode and content, or target
PATHS = ["a", "b", "d/x", "d/e/y"]
COMMANDS = [
    "true",
    "rm -f a",
    "rm -rf d",
    "rm -rf a b d",
    "mv -f a b",
    "mv d/x a",
    "mv d d2; ln -s d2 d",
    "rm -rf a; mkdir -p a/empty",
    "rm -rf a; mkdir a; echo x > a/x",
    "rm -rf d; echo file > d",
    ": > a",
    ": > b; chmod 700 b",
    "mkdir -p d; ln -sf ../a d/x",
    "find . -type f -delete",
    'python3 -c \'import os; [os.remove(p) for p in ("a", "b") if os.path.isfile(p)]\'',
    "mkdir -p .git; echo g > .git/config; mv a .git/a",
]
KILLED_IN = [(run_tool.file_history, "record_call"), (run_tool, "within_budget"), (FileHistory, "save")]

paths = st.sampled_from(PATHS)
contents = st.sampled_from(["", "one", "two"])
calls = st.one_of(
    st.builds(lambda path, content: call("file", action="write", path=path, content=content), paths, contents),
    st.builds(lambda path: call("file", action="edit", path=path, old="one", new="three"), paths),
    st.builds(lambda path, to: call("file", action="move", path=path, to=to), paths, paths),
    st.builds(lambda path: call("file", action="delete", path=path), st.sampled_from([*PATHS, "d"])),
    st.builds(lambda command: call("shell", command=command), st.sampled_from(COMMANDS)),
)
of_people = st.one_of(
    st.tuples(st.just("upload"), paths, contents),
    st.tuples(st.just("delete"), st.sampled_from([*PATHS, "d"])),
)
steps = st.one_of(
    st.tuples(st.just("call"), calls),
    st.tuples(st.just("killed upload"), paths, contents),
    st.tuples(st.just("kill"), st.sampled_from(KILLED_IN), calls, st.lists(of_people, max_size=2)),
    of_people,
    st.tuples(st.just("unseen"), paths, contents),
    st.tuples(st.just("undo"), st.integers(0, 30)),
    st.tuples(st.just("fork"), st.integers(0, 60)),
)
write_one = call("file", action="write", path="a", content="one")
delete_a = call("file", action="delete", path="a")
folder_for_a = call("shell", command="rm -rf a; mkdir -p a/empty")
nothing = call("shell", command="true")


def files_in(folder: Path) -> Files:
    """Return the content that the history must hold of a folder, read independently of the history."""
    files: Files = {}
    for parent, folders, names in os.walk(folder):
        links = [name for name in folders if Path(parent, name).is_symlink()]
        folders[:] = [name for name in folders if name not in {*snapshot.IGNORED, *links}]
        for name in [*names, *links]:
            file = Path(parent, name)
            content = os.fsencode(os.readlink(file)) if file.is_symlink() else file.read_bytes()
            files[str(file.relative_to(folder))] = (file.lstat().st_mode, content)
    return files


class Checked:
    """A session whose files are compared with its changes around each step.

    `at_entry` are the files when an entry was appended. They lack files that a program changed between two comparisons.
    `known` are the files as the history last saw them.
    """

    def __init__(self, owner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch
        model = LogicalModel.objects.filter(name="script").first() or factories.scripted_model("script")
        self.session: Session = factories.SessionFactory(owner=owner, model=model)
        self.root = self.session.workspace_path
        self.history = file_history.history_of(workspace_of(self.session))
        file_history.ensure_snapshot(self.session, workspace_of(self.session))
        self.at_entry: dict[int, Files] = {0: {}}
        self.known: Files = {}

    @property
    def files(self) -> Files:
        return files_in(self.root)

    def do(self, step: tuple[Any, ...]) -> None:
        with suppress(ToolError):  # a folder in place of a file, or a link in its path
            match step:
                case "call", wanted:
                    self._finish(self._start(wanted))
                case "kill", (where, name), wanted, meanwhile:
                    self._kill_and_finish(self._start(wanted), where, name, meanwhile)
                case "upload", path, content:
                    self._upload(path, content)
                case "killed upload", path, content:
                    with self._monkeypatch.context() as patch, suppress(Killed):
                        patch.setattr(FileHistory, "save", die)
                        self._upload(path, content)
                case "delete", path:
                    try:
                        uploads.delete(self.session, path)
                    finally:
                        self._know(path)
                case "unseen", path, content:
                    workspace_of(self.session).write_bytes(path, content.encode())
                case "undo", number:
                    self._undo(number)
                case "fork", number:
                    self._fork(number)

    def _start(self, wanted: dict[str, Any]) -> Run:
        delivered = services.post_message(self.session, self.session.owner, script(wanted, result()))
        assert delivered.task is not None
        return Run(delivered.task)

    def _kill_and_finish(self, run: Run, where: Any, name: str, meanwhile: list[tuple[Any, ...]]) -> None:
        """Kill the server if it gets that far. People continue before the task is resumed."""
        before, known = self.files, self.known
        with self._monkeypatch.context() as patch, suppress(Killed):
            patch.setattr(where, name, die)
            patch.setattr(lease, "release", lambda task: None)
            run.advance()
        Task.objects.filter(pk=run.task.pk, ended_at=None).update(
            lease_expires_at=timezone.now() - timedelta(seconds=1)
        )
        run.task.refresh_from_db()
        has_begun = run.task.tool_calls.exists()
        if not run.task.is_active:
            self._finish(run, before=before, known=known)
            return
        for step in meanwhile:
            self.do(step)
        self._finish(run, before=before if has_begun else self.files, known=known)

    def _finish(self, run: Run, *, before: Files | None = None, known: Files | None = None) -> None:
        """Let the task end. The files were `before` when its call began, and `known` when its message came."""
        before, known = self.files if before is None else before, self.known if known is None else known
        assert run.advance().state == "done"
        entries = list(run.task.entries.order_by("seq"))
        called = next(entry.seq for entry in entries if entry.call)
        self.known = self.files
        for entry in entries:
            self.at_entry[entry.seq] = known if entry.seq < called else before if entry.seq == called else self.known

    def _upload(self, path: str, content: str) -> None:
        try:
            uploads.replace(self.session, path, SimpleUploadedFile("file", content.encode()))
        finally:
            self._know(path)

    def _know(self, path: str) -> None:
        """Record that the history has compared this file or folder, and no other."""
        others = {name: file for name, file in self.known.items() if not is_within(name, path)}
        self.known = others | {name: file for name, file in self.files.items() if is_within(name, path)}

    def _undo(self, number: int) -> None:
        changes = list(WorkspaceChange.objects.filter(session=self.session).order_by("pk"))
        if not changes:
            return
        change, before = changes[number % len(changes)], self.files
        wanted = self.rebuilt(change)
        try:
            undone = file_history.undo(change)
        except NothingToPutBack:
            assert before == wanted
        else:
            assert list(undone.unrestored) == []
        self.known = self.files
        assert self.known == wanted

    def _fork(self, number: int) -> None:
        seq = sorted(self.at_entry)[number % len(self.at_entry)]
        copy = forks.fork(self.session, seq, self.session.owner)
        wanted = self.files if seq == max(self.at_entry) else self.at_entry[seq]
        assert files_in(copy.workspace_path) == wanted

    def rebuilt(self, until: WorkspaceChange | None = None) -> Files:
        """Return the files that result from the changes before this one, or from all. Each must continue its
        predecessor.
        """
        rows = FileChange.objects.filter(change__session=self.session).order_by("change_id", "pk")
        states: dict[str, tuple[int, str]] = {}
        for row in rows.filter(change__lt=until) if until else rows:
            before = states.pop(row.path, (None, ""))
            assert before == (row.before_mode, row.before_sha256), f"{row} is told again"
            if row.after_mode is not None:
                states[row.path] = (row.after_mode, row.after_sha256)
        return {path: (mode, self.history.content_path(sha256).read_bytes()) for path, (mode, sha256) in states.items()}

    def require_held(self, files: Files) -> None:
        """Check that the history has the content of everything that a call or a person replaced or deleted."""
        for path, file in files.items() - self.files.items():
            assert self.history.content_path(hashlib.sha256(file[1]).hexdigest()).exists(), path


def is_within(name: str, path: str) -> bool:
    return name == path or name.startswith(f"{path}/")


@pytest.fixture
def trusted(owner: Any) -> Any:
    """Let no command wait for a person, so that each task runs to its end."""
    ToolSetting.objects.update_or_create(name="shell", defaults={"approval": "never"})
    ToolSetting.objects.update_or_create(name="file", defaults={"approval": "never"})
    return owner


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(steps=st.lists(steps, min_size=2, max_size=12))
@example(steps=[("call", write_one), ("call", delete_a), ("call", nothing), ("undo", 1)])
@example(steps=[("call", write_one), ("delete", "a"), ("call", nothing), ("undo", 1)])
@example(steps=[("call", write_one), ("call", folder_for_a), ("undo", 1), ("undo", 0)])
@example(steps=[("unseen", "a", "one"), ("upload", "a", "two"), ("unseen", "a", ""), ("delete", "a")])
def test_changes_reproduce_the_files(
    trusted: Any, monkeypatch: pytest.MonkeyPatch, steps: list[tuple[Any, ...]]
) -> None:
    checked = Checked(trusted, monkeypatch)
    for step in steps:
        before = checked.files
        checked.do(step)
        assert checked.rebuilt() == checked.known
        if step[0] != "unseen":
            checked.require_held(before)
    for number in range(len(checked.at_entry)):
        checked.do(("fork", number))
