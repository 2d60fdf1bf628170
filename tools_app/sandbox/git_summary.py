"""A summary of the workspace's git repository: its branch, changed files and last commits.

Git runs in the sandbox, with a temporary repository folder that only links to the objects, references and index of
`.git`. It never reads the configuration and hooks of the workspace, in which programs could be named: a monitor of
files, filters of content, the check of signatures.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tools_app.errors import ToolError
from tools_app.sandbox.base import CommandLimits, ProcessIdentity, Sandbox, ShellCommand

_NAMED_FILES = 5
_MAX_NAME = 80  # characters of a path
_MAX_SUBJECT = 72  # characters
_LIMITS = CommandLimits(wall_s=4, output=64_000)
_ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",  # not the workspace's home
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
}
# The paths of a submodule are left out, as git would run in it with its own configuration. In a worktree, `.git` is a
# file with the address of its folder, and that names the folder of the repository: both must be in the workspace.
_SCRIPT = r"""
top=$PWD/$FOLDER
inside() {
    found=$(realpath -e "$1" 2> /dev/null) || return 1
    case $found in "$(realpath "$PWD")"/*) printf '%s' "$found" ;; *) return 1 ;; esac
}
absolute() { case $2 in /*) printf '%s' "$2" ;; *) printf '%s/%s' "$1" "$2" ;; esac; }
git=$top/.git
[ ! -L "$git" ] || exit 1
if [ -f "$git" ]; then
    address=$(head -c 4096 "$git" | sed -n '1s/^gitdir: //p')
    [ -n "$address" ] || exit 1
    git=$(inside "$(absolute "$top" "$address")") || { echo elsewhere; exit; }
fi
[ -d "$git" ] || exit 1
common=$git
if [ -f "$git/commondir" ]; then
    common=$(inside "$(absolute "$git" "$(head -c 4096 "$git/commondir")")") || { echo elsewhere; exit; }
fi
own=$(mktemp -d) || exit 1
trap 'rm -rf "$own"' EXIT
for path in refs packed-refs objects info shallow; do
    [ -e "$common/$path" ] && ln -s "$common/$path" "$own/$path"
done
[ -e "$git/index" ] && ln -s "$git/index" "$own/index"
[ -f "$git/HEAD" ] && head -c 400 "$git/HEAD" > "$own/HEAD"
printf '/.results/\n' > "$own/exclude"
printf '[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tquotePath = false\n' > "$own/config"
run() {
    timeout 2 git --no-optional-locks --no-pager --git-dir="$own" --work-tree="$top" \
        -c core.fsmonitor= -c core.excludesFile="$own/exclude" -c core.hooksPath=/dev/null "$@" 2> /dev/null
}
printf 'branch %s\n' "$(run symbolic-ref -q --short HEAD | head -c 300)"
run log -3 --format='commit %h %s' | cut -c 1-400
run status --porcelain=v1 --branch --no-renames --ignore-submodules=all | head -c 50000
"""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


@dataclass(frozen=True, kw_only=True)
class GitSummary:
    """A repository's branch, "" without one; its changed files, None if they were not counted in time; its commits.

    `folder` is its place in the workspace. `is_elsewhere`: the workspace has only a worktree of it.
    """

    folder: str = ""
    branch: str = ""
    changes: Sequence[str] | None = None
    is_cut: bool = False
    commits: Sequence[str] = ()
    is_elsewhere: bool = False

    def __str__(self) -> str:
        """Return three lines."""
        place = f"Git in {_shown(self.folder, _MAX_NAME)}/" if self.folder else "Git"
        if self.is_elsewhere:
            return f"{place}: a worktree of a repository outside of the workspace."
        return "\n".join(
            [
                f"{place}: on branch {self.branch}." if self.branch else f"{place}: on no branch (detached HEAD).",
                f"Changed files: {self._changes()}.",
                f"Last commits: {'; '.join(self.commits)}." if self.commits else "No commits yet.",
            ]
        )

    def _changes(self) -> str:
        if self.changes is None:
            return "not counted in time"
        if not self.changes:
            return "none"
        total = f"more than {len(self.changes):,}" if self.is_cut else f"{len(self.changes):,}"
        more = ", …" if len(self.changes) > _NAMED_FILES else ""
        return f"{total} ({', '.join(self.changes[:_NAMED_FILES])}{more})"


async def git_summary(
    sandbox: Sandbox, command: ShellCommand, folder: str, on_start: Callable[[ProcessIdentity], None]
) -> GitSummary | None:
    """Return the summary of the repository in a folder of a command's workspace, "" for its root.

    None: there is no repository, or no git. The command's text and limits are replaced.
    """
    command = replace(command, text=_SCRIPT, environment={**_ENVIRONMENT, "FOLDER": folder}, limits=_LIMITS)
    try:
        outcome = await sandbox.run(command, on_output=lambda text: None, on_start=on_start)
    except (ToolError, OSError):
        return None
    return parsed(outcome.output, folder)


def parsed(output: str, folder: str = "") -> GitSummary | None:
    """Return the summary in the script's output, or None."""
    lines = output.split("\n")
    if lines[0] == "elsewhere":
        return GitSummary(folder=folder, is_elsewhere=True)
    branch = lines[0].removeprefix("branch ")
    commits = [line.removeprefix("commit ") for line in lines[1:4] if line.startswith("commit ")]
    status = lines[1 + len(commits) :]
    is_counted = bool(status) and status[0].startswith("## ")
    if not lines[0].startswith("branch ") or not (commits or is_counted):
        return None
    changes, last = status[1:-1], "".join(status[-1:])
    return GitSummary(
        folder=folder,
        branch=_shown(branch, _MAX_NAME),
        changes=[_shown(line.strip(), _MAX_NAME) for line in changes] if is_counted else None,
        is_cut=last != "",
        commits=[_shown(commit, _MAX_SUBJECT + 8) for commit in commits],
    )


def _shown(text: str, longest: int) -> str:
    """Return a text in one line of limited length that cannot close a reminder's tags."""
    plain = _CONTROL.sub(" ", text).strip().replace("</", "<\\/")
    return plain if len(plain) <= longest else f"{plain[: longest - 1]}…"
