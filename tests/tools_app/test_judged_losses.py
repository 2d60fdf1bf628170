"""Tests that approvals go by what a command loses: hidden losses are asked about, everyday commands are not.

`commands/evasions.jsonl` has commands that people reported, `commands/further.jsonl` more of the same kinds,
`commands/by_agents.jsonl` scripts and code as agents write them. Each line says whether the command loses files of
this workspace that its history does not hold.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.waiting import takes_less_than
from tools_app.contract import Danger
from tools_app.files import FileHistory, Workspace, snapshot
from tools_app.shell.danger import judgement

COMMANDS = Path(__file__).parent / "commands"
HELD = ("src/main.py", "src/util.py", "a.py", "notes.txt", "docs/a.md", "f", "build/a.txt", "node_modules/x.js")
IN_GIT = (".git/HEAD", ".git/config", ".git/index")
LARGE = ("important.db", "src/model.bin", "data/big.bin", "build/large.o")

CASES = [
    pytest.param(case["command"], case["asks"], id=f"{name}-{number}: {case['command'][:40]}")
    for name in ("evasions", "further", "by_agents")
    for number, case in enumerate(map(json.loads, (COMMANDS / f"{name}.jsonl").read_text().splitlines()), 1)
]
# Each loses important.db, src/model.bin or .git.
LOSSES = [
    *("rm -rf src", "rm -f important.db", "find . -delete", "truncate -s 0 important.db", ": > important.db"),
    *("git reset --hard", "git checkout .", "git clean -fdx", "git branch -D x", "git stash clear", "rm -rf .git"),
    *("mv important.db /tmp/", "cp a.py important.db", "sed -i 1d important.db", "dd if=a.py of=important.db"),
    *("ls | xargs rm -rf", "rsync -a --delete docs/ src/", "git push --force", "rm -rf $UNKNOWN", "tee important.db"),
    *("for x in *; do rm -rf $x; done", "shred important.db", "git update-ref -d refs/heads/x", "rm src/*"),
]
WRAPPERS = [
    *("sudo {}", "env A=1 {}", "nohup {} &", "timeout 9 {}", "true; {}", "true && {}", "false || {}", "ls\n{}", "! {}"),
    *("( {} )", "{{ {}; }}", "if true; then {}; fi", "while true; do {}; done", "f() {{ {}; }}; f", "echo $({})"),
    *('echo "$({})"', "echo `{}`", "cat <({})", "cd docs; cd ..; {}", "(cd docs); {}", "cd /tmp; cd /workspace; {}"),
    *("cd nowhere; {}", "cd docs && cd /workspace && {}", "pushd docs; popd; {}", "cd /tmp & {}", "X=1; {}", "{} # x"),
    *("case a in a) {};; esac", "set -e; {}", "docs=/tmp; {}", "cd() {{ :; }}; cd /tmp; {}", "A=$(ls) {}", "{} | cat"),
]
QUOTED = ["sh -c {}", "bash -lc {}", "eval {}", "echo {} | sh", "bash <<< {}", "trap {} EXIT", "printf %s {} | bash"]


@pytest.fixture(scope="module")
def partly_held(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A workspace with files that its history does not hold: large ones and a repository."""
    folder = tmp_path_factory.mktemp("judged")
    workspace = Workspace(folder / "workspace", history=FileHistory(folder / "history"))
    for path in (*HELD, *IN_GIT):
        workspace.write_bytes(path, b"x")
    for path in LARGE:
        workspace.write_bytes(path, bytes(snapshot.MAX_FILE_BYTES + 1))
    workspace.is_isolated = True
    return workspace


@pytest.mark.parametrize(("command", "asks"), CASES)
def test_command_is_asked_about_if_it_loses_files(command: str, asks: bool, partly_held: Workspace) -> None:
    judged = judgement(command, partly_held)
    assert (judged.danger is Danger.DANGEROUS) is asks, judged.rule
    assert bool(judged.covers) is asks


def wrapped(commands: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    plain = st.tuples(st.sampled_from(WRAPPERS), commands).map(lambda pair: pair[0].format(pair[1]))
    quoted = st.tuples(st.sampled_from(QUOTED), commands).map(lambda pair: pair[0].format(_quoted(pair[1])))
    return plain | quoted


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


@settings(deadline=None, max_examples=300)
@given(data=st.data())
def test_no_wrapping_hides_a_loss(partly_held: Workspace, data: Any) -> None:
    command = data.draw(
        st.recursive(st.sampled_from(LOSSES), wrapped, max_leaves=3).filter(
            lambda text: len(text) < 300 and text.count("`") <= 2  # backticks do not nest
        )
    )
    assert judgement(command, partly_held).danger is Danger.DANGEROUS
    assert judgement(command, partly_held) == judgement(command, partly_held)


@pytest.mark.parametrize("wrapper", [*WRAPPERS, *QUOTED])
@pytest.mark.parametrize("loss", LOSSES)
def test_each_wrapping_shows_each_loss(wrapper: str, loss: str, partly_held: Workspace) -> None:
    command = wrapper.format(_quoted(loss) if wrapper in QUOTED else loss)
    assert judgement(command, partly_held).danger is Danger.DANGEROUS


@pytest.mark.parametrize(
    "piece",
    ["rm -rf src; ", "cd docs && ", "D=docs; ", "for x in a b; do ", "mv a b; ", "rm {a,b}{c,d}{e,f} ", "$A$B$C ", "cd .. ; ", "> f; "]
    + ["echo 'rm -rf src' > x; sh x; ", "find . -exec rm {} + ", "xargs rm ", "python3 -c 'os.remove()' ", "git checkout . ", "(cd x; "],
)  # fmt: skip
def test_long_script_is_judged_in_time(piece: str, partly_held: Workspace) -> None:
    with takes_less_than(10):
        judgement(piece * (20_000 // len(piece)), partly_held)


def test_approval_names_what_it_covers(partly_held: Workspace) -> None:
    for command, covers in [
        ("git push -f origin main", "git push"),
        ("git checkout . && git reset --hard", "git checkout, git reset"),
        ("cd src && rm -f model.bin", "rm -f model.bin"),
        ("terraform destroy", "terraform destroy"),
        ("curl x | sh", "curl x | sh"),
    ]:
        assert judgement(command, partly_held).covers == covers


def test_workspace_that_is_entirely_held_is_free(workspace: Workspace, tmp_path: Path) -> None:
    workspace.write_bytes("a/b.txt", b"x")
    workspace.history = FileHistory(tmp_path / "history")
    workspace.is_isolated = True
    for command in ("rm -rf *", "rm -rf $X", "git clean -fdx", "> a/b.txt", "find . -delete", "ls | xargs rm -rf"):
        assert judgement(command, workspace).danger is Danger.MODERATE
