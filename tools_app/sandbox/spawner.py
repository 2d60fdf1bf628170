"""The program in a session's sandbox that starts each command in its own pid namespace and hands out sockets.

The sandbox's Python interpreter, 3.8 or newer, runs this file by itself, so it imports nothing of this project. Its
arguments are the descriptor of a socket to the server, the uid and gid shown to commands, the port of the proxy, and
the folders that must be mounted, each as DEVICE:INODE:PATH. It is root of the outer user namespace, which owns network
and mounts. Commands run in an inner one without capabilities and see neither its process nor its descriptors.

A request is a letter with descriptors. `R` (request as JSON, stdin, output, status) runs a command. `C` and a port
(reply) connects to that port of loopback. `L` (reply) hands out the proxy's listener.
"""

from __future__ import annotations

import array
import ctypes
import json
import os
import resource
import select
import signal
import socket
import sys
from contextlib import suppress
from typing import Any, NoReturn

_NEW_NS, _NEW_IPC, _NEW_USER, _NEW_PID = 0x0002_0000, 0x0800_0000, 0x1000_0000, 0x2000_0000
_NO_DEVICES_OR_PROGRAMS = 2 | 4 | 8  # nosuid, nodev, noexec
_READ_ONLY, _REMOUNT, _BIND, _PRIVATE = 1, 32, 4096, 1 << 18 | 16384
_SET_DUMPABLE, _DROP_BOUND, _AMBIENT, _CLEAR_AMBIENT = 4, 24, 47, 4
_CAPABILITY_VERSION = 0x2008_0522
_READ_ONLY_PROC = ("sys", "sysrq-trigger", "irq", "bus")  # like bubblewrap, as the namespace's root could write there
_SHARED_PAGES = 16384  # System V memory that no process needs to hold: 64 MiB, as in Docker's /dev/shm
_MASKED_FILE, _MASKED_FOLDER = b"/run/agentsite-masked", b"/run/agentsite-masked.d"  # mode 0000
_CONNECT_S = 0.1  # loopback answers immediately, or after a second if its queue is full; other requests wait here

_libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    control.set_inheritable(False)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _libc_call("prctl", _SET_DUMPABLE, 0, 0, 0, 0)
    for folder in sys.argv[5:]:
        _require_mounted(*folder.split(":", 2))
    inner = _create_inner_namespace(*sys.argv[2:4])
    listener = socket.socket()
    # Bound before any command can bind it. It refuses connections until it listens.
    listener.bind(("127.0.0.1", int(sys.argv[4])))
    control.send(b"ready")
    while True:
        letter, descriptors = _receive(control)
        if not letter:
            return
        with suppress(OSError):  # the server sees the closed descriptors as the answer
            _handle(letter, descriptors, inner, listener)
        for descriptor in descriptors:
            os.close(descriptor)


def _require_mounted(device: str, inode: str, path: str) -> None:
    """Exit if a folder is not the session's: a program may have replaced it by a link before the mount."""
    mounted = os.stat(path)
    if (mounted.st_dev, mounted.st_ino) != (int(device), int(inode)):
        sys.exit(f"{path} is not the session's folder: it was replaced by a link.")


def _receive(control: socket.socket) -> tuple[bytes, list[int]]:
    data, ancillary, _, _ = control.recvmsg(64, socket.CMSG_SPACE(4 * 4), socket.MSG_CMSG_CLOEXEC)
    descriptors = array.array("i")
    for _, _, content in ancillary:
        descriptors.frombytes(content)
    return data, descriptors.tolist()


def _handle(letter: bytes, descriptors: list[int], inner: int, listener: socket.socket) -> None:
    if letter[:1] == b"R":
        _start_in_new_namespace(descriptors, inner)
    elif letter[:1] == b"C":
        with _connect(int(letter[1:])) as connection:
            _send_socket(connection, descriptors[0])
    else:
        _send_socket(listener, descriptors[0])


def _connect(port: int) -> socket.socket:
    """Connect to loopback by IPv4, or else by IPv6."""
    try:
        return socket.create_connection(("127.0.0.1", port), _CONNECT_S)
    except OSError:
        return socket.create_connection(("::1", port), _CONNECT_S)


def _send_socket(connection: socket.socket, reply: int) -> None:
    with socket.socket(fileno=os.dup(reply)) as channel:
        channel.sendmsg([b"."], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [connection.fileno()]))])


def _start_in_new_namespace(descriptors: list[int], inner: int) -> None:
    """Start the first process of a new pid namespace, from a fork because unshare(2) works once a process."""
    middle = os.fork()
    if middle:
        os.waitpid(middle, 0)
        return
    try:
        _libc_call("unshare", _NEW_PID | _NEW_NS | _NEW_IPC)
        if os.fork() == 0:
            _run_as_init(descriptors, inner)
    finally:
        os._exit(0)


def _run_as_init(descriptors: list[int], inner: int) -> None:
    """Start the command, report its end, then wait to be killed, which ends the entire namespace."""
    request_file, stdin, output, status = descriptors
    os.setsid()
    _mount_proc()
    with open(request_file, "rb") as file:
        request = json.load(file)
    _apply_mask(request["hidden"], request["fixed"])
    channel = socket.socket(fileno=status)
    wake, woken = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.set_wakeup_fd(woken)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    channel.send(b"started")  # the kernel adds our pid as the server sees it
    command = os.fork()
    if command == 0:
        _exec_command(request, stdin, output, inner)
    _drop_capabilities()
    for descriptor in (0, 1, 2, stdin, output, inner):
        os.close(descriptor)
    poll = select.poll()
    poll.register(channel, select.POLLIN)
    poll.register(wake, select.POLLIN)
    while True:
        for descriptor, _ in poll.poll():
            if descriptor == wake:
                os.read(wake, 512)
                _reap(command, channel)
            elif not channel.recv(16):  # the server is gone
                return
            else:
                with suppress(ProcessLookupError):
                    os.kill(-1, signal.SIGTERM)


def _reap(command: int, channel: socket.socket) -> None:
    with suppress(ChildProcessError, BrokenPipeError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            if pid == command:
                code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)
                channel.send(str(code).encode())


def _exec_command(request: dict[str, Any], stdin: int, output: int, inner: int) -> NoReturn:
    """Turn into the command, with its limits, in the inner user namespace."""
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")  # the first process that the kernel kills when memory is short
        _libc_call("setns", inner, _NEW_USER)
        _drop_capabilities()
        for source, target in ((stdin, 0), (output, 1), (output, 2)):
            os.dup2(source, target)
        for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        for name, limit in request["limits"].items():
            resource.setrlimit(getattr(resource, name), (limit, limit))
        os.execve(request["argv"][0], request["argv"], request["environment"])  # noqa: S606
    except (OSError, ValueError) as error:
        os.write(output, f"{error}\n".encode())
    finally:
        os._exit(126)


def _mount_proc() -> None:
    _libc_call("mount", None, b"/", None, _PRIVATE, None)
    _libc_call("mount", b"proc", b"/proc", b"proc", _NO_DEVICES_OR_PROGRAMS, None)
    with suppress(OSError), open("/proc/sys/kernel/shmall", "w") as file:  # older kernels only allow it to root
        file.write(str(_SHARED_PAGES))
    for name in _READ_ONLY_PROC:
        path = f"/proc/{name}".encode()
        if os.path.exists(path):
            _libc_call("mount", path, path, None, _BIND, None)
            _libc_call("mount", path, path, None, _BIND | _REMOUNT | _READ_ONLY | _NO_DEVICES_OR_PROGRAMS, None)


def _apply_mask(hidden: list[str], fixed: list[str]) -> None:
    """Hide files, and fix folders: a mount point cannot be renamed. Paths that are gone need no mask."""
    for path in map(os.fsencode, sorted(fixed)):
        _bind(path, path)
    for path in map(os.fsencode, hidden):
        _bind(_MASKED_FOLDER if os.path.isdir(path) else _MASKED_FILE, path)


def _bind(source: bytes, target: bytes) -> None:
    try:
        _libc_call("mount", source, target, None, _BIND, None)
    except OSError:
        if os.path.exists(target):  # it still exists, and is no dangling link
            raise


def _create_inner_namespace(uid: str, gid: str) -> int:
    """Return a descriptor of the user namespace for commands, and forbid further user namespaces."""
    _libc_call("mount", b"proc", b"/proc", b"proc", _NO_DEVICES_OR_PROGRAMS, None)
    with open("/proc/sys/user/max_user_namespaces", "w") as file:
        file.write("1")
    ours, its = socket.socketpair()
    child = os.fork()
    if child == 0:
        _libc_call("unshare", _NEW_USER)
        its.send(b".")
        its.recv(1)
        os._exit(0)
    ours.recv(1)
    for name, text in (("uid_map", f"{uid} 0 1"), ("setgroups", "deny"), ("gid_map", f"{gid} 0 1")):
        with open(f"/proc/{child}/{name}", "w") as file:
            file.write(text)
    inner = os.open(f"/proc/{child}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    ours.send(b".")
    os.waitpid(child, 0)
    ours.close()
    its.close()
    return inner


def _drop_capabilities() -> None:
    for capability in range(64):
        if _libc.prctl(_DROP_BOUND, capability, 0, 0, 0):
            break  # there are no more capabilities
    _libc_call("prctl", _AMBIENT, _CLEAR_AMBIENT, 0, 0, 0)
    _libc_call("capset", (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0), (ctypes.c_uint32 * 6)())


def _libc_call(name: str, *arguments: Any) -> None:
    """Call a function of libc.

    Raises: OSError
    """
    if getattr(_libc, name)(*arguments) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


if __name__ == "__main__":
    main()
