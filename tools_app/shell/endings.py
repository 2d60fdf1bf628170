"""The end of a command as a sentence, and advice on the limit that it reached."""

import posixpath
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from tools_app.files import in_units
from tools_app.sandbox import CommandLimits, CommandOutcome, ShellCommand
from tools_app.shell.syntax import parse_script

MAX_TIMEOUT_S = 600
_SIGKILL_CODE, _SIGXFSZ_CODE = 128 + 9, 128 + 25  # exit codes for SIGKILL and SIGXFSZ
_MIN_FREE_BYTES = 16 * 1024**2  # free bytes below which a disk counts as full


def kill_reason(outcome: CommandOutcome, limits: CommandLimits) -> str:
    """Return the limit that the command was killed for, in a few words; '' if it ended by itself."""
    if outcome.timed_out:
        return f"killed after {limits.wall_s:.0f} s"
    if outcome.out_of_memory:
        return f"killed: it took more than {_binary_size(limits.memory)} of memory"
    if outcome.out_of_space:
        return f"killed: the workspace held more than its {in_units(limits.workspace or 0)}; delete what is not needed"
    if outcome.out_of_cpu_time:
        return f"killed: a process computed for {limits.processor_s} s"
    return ""


def advice(command: ShellCommand, outcome: CommandOutcome, *, in_background: bool = False) -> str:
    """Return a sentence about the limit that the command reached, or ''.

    Most limits only show in the error message of the program that the kernel refused. After success, only the last line
    counts, because earlier lines may quote anything.
    """
    limits = command.limits
    if outcome.timed_out:
        return _time_advice(limits, in_background=in_background)
    if outcome.out_of_memory:
        return _memory_advice(limits)
    if outcome.out_of_space:
        return ""
    if outcome.out_of_cpu_time:
        return f"The limit of a process is {limits.processor_s} s on all cores together. Do less at a time."
    output = _own_messages(command.text, outcome.output.rstrip())
    messages = output if outcome.exit_code else output.rpartition("\n")[2]
    for pattern, advice_for in _LIMIT_MESSAGES:
        if pattern.search(messages):
            return advice_for(limits)
    if _NO_SPACE_MESSAGE.search(messages):
        return _space_advice(limits, command.workspace)
    if outcome.exit_code == _SIGXFSZ_CODE:
        return _file_size_advice(limits)
    if outcome.exit_code == _SIGKILL_CODE:
        return f"Something ended it with signal 9, as the system does when memory is short. {_memory_advice(limits)}"
    return ""


def _time_advice(limits: CommandLimits, *, in_background: bool) -> str:
    if in_background:
        return f"The time limit of a background command is {limits.wall_s / 3600:.0f} hours. Start it again if needed."
    if limits.wall_s >= MAX_TIMEOUT_S:
        return "Its time limit was the longest. Do less at a time, or leave it running with background."
    return f"timeout_s was its limit. Set it higher (at most {MAX_TIMEOUT_S}), or leave it running with background."


def _memory_advice(limits: CommandLimits) -> str:
    return (
        f"The limit is {_binary_size(limits.memory)} for all commands of the session together, files in /tmp included. "
        "Work on less at a time."
    )


def _file_size_advice(limits: CommandLimits) -> str:
    return f"A file can have at most {_binary_size(limits.file_size)}. Split it, or compress it while it is written."


def _open_files_advice(limits: CommandLimits) -> str:
    return f"A process can have {limits.open_files:,} files open. Close them sooner, or open fewer at once."


def _processes_advice(limits: CommandLimits) -> str:
    return f"At most {limits.processes} processes and threads run at once. Use fewer workers, such as -j4."


def _space_advice(limits: CommandLimits, workspace: Path) -> str:
    if shutil.disk_usage(workspace).free < _MIN_FREE_BYTES:
        return "The server's disk is full. Delete what is not needed, or tell the person."
    return (
        f"Temporary files, in /tmp and /dev/shm, can take {_binary_size(limits.temporary)}. Put large files into the "
        "workspace, for example with TMPDIR."
    )


def _binary_size(size: int) -> str:
    return f"{size / 1024**3:.0f} GiB" if size >= 1024**3 else f"{size / 1024**2:.0f} MiB"


# These programs print the content of files. Only lines under their own name count as their messages.
_QUOTING = frozenset(
    {"cat", "head", "tail", "less", "more", "nl", "tac", "strings", "grep", "egrep", "fgrep", "zgrep", "rg", "ag"}
    | {"sed", "awk", "cut", "tr", "column", "fold", "sort", "uniq", "wc", "jq", "yq", "diff", "cmp", "comm"}
    | {"ls", "find", "tree", "file", "stat", "git", "journalctl", "dmesg", "curl", "wget"}
    | {"echo", "printf", "cd", "test", "[", "true", "false", "exit"}
)
_SPEAKER = re.compile(r"(?:[^\s:/]*/)*([^\s:/]+): ")  # at the start of a line


def _own_messages(command: str, output: str) -> str:
    """Return the output without lines that programs in `_QUOTING` may have quoted from elsewhere."""
    names = {posixpath.basename(parsed.words[0]) for parsed in parse_script(command).commands if parsed.words}
    if not names <= _QUOTING:
        return output
    speakers = names | {"bash", "sh", "fatal", "error"}
    lines = ((line, _SPEAKER.match(line)) for line in output.splitlines())
    return "\n".join(line for line, speaker in lines if speaker and speaker[1] in speakers)


def _system_error(*messages: str) -> str:
    """Return a pattern for strerror texts, as programs print them after a colon or in brackets."""
    return rf"""(?:[:\]] +["']?|\()(?i:{"|".join(messages)})"""


_NO_SPACE_MESSAGE = re.compile(rf"{_system_error('No space left on device', 'Disk quota exceeded')}|\bENOSPC: ")
_LIMIT_MESSAGES: list[tuple[re.Pattern[str], Callable[[CommandLimits], str]]] = [
    (
        re.compile(
            r"[Cc](?:annot|an't|ould not) fork|fork failed|can't start new thread|pthread_create failed"
            r"|unable to create (?:new )?native thread|failed to create new OS thread|\bspawn\w* \S+ EAGAIN"
            rf"|uv_thread_create|BlockingIOError: \[Errno 11\]|{_system_error('Resource temporarily unavailable')}"
        ),
        _processes_advice,
    ),
    (re.compile(rf"{_system_error('Too many open files')}|\bEMFILE: "), _open_files_advice),
    (
        re.compile(rf"{_system_error('File too large')}|File size limit exceeded|\bEFBIG: |\bSIGXFSZ\b"),
        _file_size_advice,
    ),
    (
        re.compile(
            rf"^(?:E +)?[\w.]*MemoryError\b|{_system_error('Cannot allocate memory')}|\bcannot allocate \d+ bytes"
            r"|std::bad_alloc|[Oo]ut of memory|OutOfMemoryError|memory exhausted|\bENOMEM\b"
            r"|memory allocation of \d+ bytes failed|buffer allocation failed",
            re.MULTILINE,
        ),
        _memory_advice,
    ),
]
