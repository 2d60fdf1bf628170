"""A command as words: the shell that runs it, held to limits by the kernel.

Set inside of a sandbox, so that they bind the command and not the sandbox's own set-up.
"""

from shutil import which

from tools_app.errors import SandboxUnavailable
from tools_app.sandbox.base import Command
from tools_app.sandbox.environment import PATH
from tools_app.sandbox.outlet import FORWARDER


def limited_shell(command: Command, *, count_processes: bool = True, forwarded: bool = False) -> list[str]:
    """bash if there is one, else sh; the first to be ended by the kernel when the machine's memory is short.

    `forwarded`: with a proxy on loopback before it, which leads to the socket of the command's outlet.
    Memory is RLIMIT_DATA, not the address space: Node.js and Java reserve far more addresses than they use.
    Raises SandboxUnavailable if util-linux is missing.
    """
    choom, prlimit, bash = (which(name, path=PATH) for name in ("choom", "prlimit", "bash"))
    if not choom or not prlimit:
        raise SandboxUnavailable("The programs choom and prlimit are missing. Install util-linux.")
    limits = command.limits
    bounds = ["--core=0", f"--cpu={limits.cpu_s}", f"--data={limits.memory}", f"--fsize={limits.file_size}"]
    bounds += [f"--nofile={limits.open_files}"]
    if count_processes:
        bounds.append(f"--nproc={limits.processes}")
    shell = [bash or "/bin/sh", "-c", "--", command.text]
    if forwarded:
        shell = ["python3", "-I", "-c", FORWARDER, *shell]
    return [choom, "-n", "1000", "--", prlimit, *bounds, "--", *shell]
