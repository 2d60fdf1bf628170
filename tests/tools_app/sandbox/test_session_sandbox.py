"""Tests of a session's sandbox: shared state of its commands, and isolation from others."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.tools_app.conftest import Call
from tests.tools_app.test_background_commands import eventually
from tools_app.contract import ToolContext
from tools_app.errors import FetchFailed, PortUnreachable, SandboxUnavailable
from tools_app.files import Workspace, workspace_owner
from tools_app.network import NetworkPolicy
from tools_app.network.fetch import fetch
from tools_app.sandbox import CommandLimits, CommandOutcome, ShellCommand, ports, session_sandboxes
from tools_app.sandbox.choice import choose_sandbox
from tools_app.sandbox.ports import SandboxPorts, connect
from tools_app.sandbox.program import MemoryFiles
from tools_app.sandbox.session_sandbox import SessionSandbox
from tools_app.sandbox.session_sandboxes import sandboxes
from tools_app.shell.background_jobs import jobs

SERVER = "echo served > index.html; exec python3 -u -m http.server 8123 --bind 127.0.0.1"
READ = """python3 - <<'END'
import urllib.request
try:
    print(urllib.request.urlopen("http://sandbox:8123/", timeout=5).read().decode())
except Exception as error:
    print("no:", error)
END"""
MIB = 1024**2


@pytest.fixture
async def tool_context(tool_context: ToolContext, tmp_path: Path) -> AsyncIterator[ToolContext]:
    if (found := choose_sandbox("bubblewrap")).probe():
        pytest.skip(found.probe())
    space = Workspace(tmp_path / "workspace", owner=workspace_owner(), home=tmp_path / "home")
    network = NetworkPolicy(sandbox=SandboxPorts(session="a session"), only_hosts=frozenset())
    yield replace(tool_context, sandbox=found, workspace=space, network=network)
    for session in ("a session", "another"):
        await jobs.end(session)
        await sandboxes.end(session)


async def run(context: ToolContext, text: str, session: str = "a session", **limits: int) -> CommandOutcome:
    command = ShellCommand(
        text=text,
        session=session,
        workspace=context.workspace.make_root(),
        views=context.workspace.views,
        home=context.workspace.make_home(),
        limits=CommandLimits(**limits),
    )
    return await context.sandbox.run(command, on_output=lambda text: None, on_start=lambda started: None)


async def test_home_and_tmp_persist_between_commands(tool_context: ToolContext) -> None:
    await run(tool_context, "echo kept > ~/file; echo too > /tmp/file; export LOST=1; sleep 1000 &")
    outcome = await run(tool_context, "cat ~/file /tmp/file; echo [$LOST]; pgrep sleep; git config user.email")
    assert outcome.output == "kept\ntoo\n[]\nagent@sandbox.invalid\n"
    await sandboxes.end("a session")
    assert (await run(tool_context, "cat ~/file; ls /tmp")).output == "kept\nhome\n"


async def test_background_server_is_reachable_by_its_session_only(
    tool_context: ToolContext, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = await call("shell", command=SERVER, background=True)
    named = [*begun.metadata["ports"]]
    while "Serving" not in begun.content:
        begun = await call("job", action="read", id=1, wait_s=20)
        named += begun.metadata["ports"]
    assert named == await ports.listening_ports("a session") == [8123]  # reported only once
    assert (await call("job", action="read", id=1, wait_s=0)).metadata["ports"] == []
    assert await ports.listening_ports("another") == []
    assert (await run(tool_context, READ)).output == "served\n\n"
    fetched = await fetch(
        "http://sandbox:8123/", replace(tool_context.network, only_hosts=None), max_bytes=1000, timeout_s=10
    )
    assert fetched.body == b"served\n"
    _, writer = await connect("a session", 8123)
    writer.close()
    await is_reached_from_another_process(tmp_path, monkeypatch)
    assert "no:" in (await run(tool_context, READ, "another")).output
    for session, port in (("another", 8123), ("a session", 8124), ("a session", 0), ("none", 8123)):
        with pytest.raises(PortUnreachable):
            await connect(session, port)
    others = NetworkPolicy(sandbox=SandboxPorts(session="another"))
    for policy in (others, NetworkPolicy()):
        with pytest.raises((PortUnreachable, FetchFailed)):
            await fetch("http://sandbox:8123/", policy, max_bytes=1000, timeout_s=10)


async def is_reached_from_another_process(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Connect like a web process of a team, through the worker."""
    monkeypatch.setattr(ports, "_folder", folder / "ports")
    await ports.listen()
    with monkeypatch.context() as other:
        other.setattr(ports.sandboxes, "get", lambda session: None)
        assert await ports._open_at_peer("a session", 8123) is None  # its own peer does not count
    with monkeypatch.context() as other:
        other.setattr(ports.os, "getpid", lambda: 1)
        found = await ports._open_at_peer("a session", 8123)
        assert found
        reader, writer = await asyncio.open_connection(sock=found)
        writer.write(b"GET / HTTP/1.0\r\n\r\n")
        assert (await reader.read()).endswith(b"served\n")
        writer.close()
        assert await ports._open_at_peer("a session", 8124) is None
        assert await ports._open_at_peer("another", 8123) is None
    for server in ports._servers:
        server.close()


ATTACKS = """
cat /proc/1/environ /proc/1/mem; ls /proc/1/fd/ /proc/1/root/
for file in /proc/sys/net/ipv4/ip_forward /proc/sys/user/max_user_namespaces /proc/sys/kernel/shmmax; do
  (echo 1 > $file) && echo WROTE $file; done
umount /proc/sys && echo UNMOUNTED; mount -t tmpfs none /mnt && echo MOUNTED
unshare -U true && echo NESTED; unshare -p true && echo NESTED; nsenter -t 1 -m true && echo ENTERED
kill -9 1; kill -INT 1; kill -USR1 1; kill -STOP 1; sleep 0.1; kill -CONT 1
pgrep -x sleep && echo SEEN; pkill -x sleep && echo KILLED
python3 -c 'import socket; socket.socket().bind(("127.0.0.1", 3128)); print("BOUND")'
echo lives
"""


async def test_command_reaches_neither_other_commands_nor_the_spawner(tool_context: ToolContext) -> None:
    other = asyncio.create_task(run(tool_context, "touch marked; sleep 60"))
    await eventually((tool_context.workspace.root / "marked").exists)
    said = (await run(tool_context, ATTACKS)).output
    assert said.endswith("lives\n")
    assert not [line for line in said.splitlines() if line.split()[0].isupper()]
    assert not other.done()
    other.cancel()
    with pytest.raises(asyncio.CancelledError):
        await other


async def test_process_memory_and_disk_limits_are_per_session(tool_context: ToolContext) -> None:
    hold = "python3 -c 'import time; held = bytearray(b\"x\") * (70 << 20); time.sleep(30)'"
    two = [asyncio.create_task(run(tool_context, f"{hold} & {hold}", memory=200 * MIB)) for _ in range(2)]
    done, rest = await asyncio.wait(two, return_when=asyncio.FIRST_COMPLETED)
    assert all(task.result().out_of_memory for task in done)
    for task in rest:  # the other command may fit now
        task.cancel()
        await asyncio.wait({task})
    many = "for n in $(seq 12); do sleep 1 & done; echo started; wait"
    both = await asyncio.gather(*(run(tool_context, many, processes=20) for _ in range(2)))
    assert "fork" in "".join(outcome.output for outcome in both)
    full = await run(tool_context, "head -c 30000000 /dev/zero > ~/big; sleep 30", workspace=20 * MIB)
    assert full.out_of_space


# Memory that no process has mapped must end with the command, and must count towards its limit.
SYSTEM_V = """python3 - <<'END'
import ctypes
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
segment = libc.shmget(0, 8 << 20, 0o1600)
address = ctypes.c_void_p(libc.shmat(segment, None, 0))
ctypes.memset(address, 1, 8 << 20)
bounded = open("/proc/sys/kernel/shmall").read() == "16384\\n"  # where the kernel allows it
print(open("/proc/sysvipc/shm").read().count("\\n") - 1, libc.shmget(0, 65 << 20, 0o1600) if bounded else -1)
END"""
UNNAMED = """python3 - <<'END'
import os, time
files = [os.memfd_create("x") for _ in range(10)]
for file in files:
    os.truncate(file, 20 << 20)
    os.posix_fallocate(file, 0, 20 << 20)
time.sleep(30)
END"""


async def test_unmapped_memory_counts_and_ends_with_the_command(tool_context: ToolContext) -> None:
    assert (await run(tool_context, SYSTEM_V)).output == "1 -1\n"
    assert (await run(tool_context, "wc -l < /proc/sysvipc/shm")).output == "1\n"  # the header line
    assert (await run(tool_context, UNNAMED, memory=100 * MIB)).out_of_memory


async def test_temporary_files_count_as_session_memory(
    tool_context: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    await run(tool_context, "head -c 60M /dev/zero > /tmp/big; head -c 50M /dev/zero > /dev/shm/big")
    assert (await run(tool_context, "sleep 30", memory=100 * MIB)).out_of_memory
    assert (await run(tool_context, "sleep 0.6; echo fits", memory=300 * MIB)).output == "fits\n"
    monkeypatch.setattr(session_sandboxes, "MAX_IDLE_BYTES", 40 * MIB)
    await run(tool_context, "true", "another")
    assert sandboxes.sessions() == {"another"}


async def test_dead_sandbox_is_replaced(tool_context: ToolContext) -> None:
    await run(tool_context, "true")
    sandbox = sandboxes.get("a session")
    assert sandbox
    sandbox.kill()
    await eventually(lambda: not sandbox.is_up)
    assert (await run(tool_context, "echo again")).output == "again\n"


async def test_idle_sandboxes_end_and_are_limited(tool_context: ToolContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_sandboxes, "MAX_IDLE", 1)
    await run(tool_context, "true")
    await run(tool_context, "true", "another")
    assert sandboxes.sessions() == sandboxes.idle_sessions() == {"another"}
    monkeypatch.setattr(session_sandboxes, "IDLE_S", 0.01)
    await run(tool_context, "true", "another")
    await eventually(lambda: not sandboxes.sessions())


async def test_folder_replaced_by_a_link_before_the_mount_is_refused(
    tool_context: ToolContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program of the parent could do that, because the folder of a delegated task is inside the parent's."""
    parent = tool_context.workspace.make_root()
    folder, other = parent / "children" / "1", tmp_path / "other"
    for each in (folder, other):
        each.mkdir(parents=True)
        shutil.chown(each, *(tool_context.workspace.owner or (-1, -1)))
    (other / "key.txt").write_text("secret")
    start = SessionSandbox.start

    async def late(words: Callable[[MemoryFiles, int], Sequence[str]]) -> SessionSandbox:
        def after_check(files: MemoryFiles, control: int) -> Sequence[str]:
            named = words(files, control)
            folder.rename(parent / "gone")
            folder.symlink_to(other)
            return named

        return await start(after_check)

    monkeypatch.setattr(SessionSandbox, "start", late)
    child = Workspace(folder, tool_context.workspace.owner, views=[parent])
    with pytest.raises(SandboxUnavailable, match="/workspace is not the session's folder"):
        await run(replace(tool_context, workspace=child), "cat key.txt")
