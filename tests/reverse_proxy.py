"""An nginx process with deploy/nginx.conf, in which only ports and paths are changed."""

import os
import pwd
import socket
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import which

import pytest

from tests.certificates import Certificates
from tests.processes import below
from tests.server import ROOT, ended_unless_up, free_port
from tests.waiting import until

CONFIGURATION = ROOT / "deploy" / "nginx.conf"
_PROGRAM = which("nginx") or which("nginx", path="/usr/sbin")
_LISTEN = "listen 8080;"
_WEB = "proxy_pass http://$web:8000;"
_OF_DOCKER = ("set $web web;", "resolver 127.0.0.11 valid=5s;")


@dataclass(frozen=True, kw_only=True)
class Proxy:
    port: int
    tls_port: int
    process: "subprocess.Popen[bytes]"

    def megabytes(self) -> float:
        """Return its resident memory, without shared pages, and its open files, which Compose has in memory too."""
        pids = {self.process.pid, *below(self.process.pid)}
        return sum(_private_memory(pid) + _size_of_open_files(pid) for pid in pids) / 1024**2


@contextmanager
def started_proxy(folder: Path, web_port: int) -> Iterator[Proxy]:
    if not _PROGRAM:
        pytest.skip("no nginx here")
    port, tls_port = free_port(), free_port()
    (folder / "nginx.conf").write_text(_configuration(folder, port, tls_port, web_port))
    command = [_PROGRAM, "-c", str(folder / "nginx.conf"), "-p", str(folder), "-e", "stderr"]
    subprocess.run([*command, "-t"], check=True, capture_output=True)
    with (folder / "nginx.log").open("wb") as log:
        process = subprocess.Popen(command, stderr=log)
    with ended_unless_up(process):
        until(lambda: _listens(port))
    try:
        yield Proxy(port=port, tls_port=tls_port, process=process)
    finally:
        process.terminate()
        process.wait(30)


def _configuration(folder: Path, port: int, tls_port: int, web_port: int) -> str:
    certificate, key = Certificates(folder).issue("127.0.0.1")
    listen = f"listen 127.0.0.1:{port}; listen 127.0.0.1:{tls_port} ssl;"
    changes = {
        " /tmp/": f" {folder}/",
        _LISTEN: f"{listen} ssl_certificate {certificate}; ssl_certificate_key {key};",
        _WEB: f"proxy_pass http://127.0.0.1:{web_port};",
        **dict.fromkeys(_OF_DOCKER, ""),
    }
    text = CONFIGURATION.read_text()
    for original, replacement in changes.items():
        assert original in text
        text = text.replace(original, replacement)
    return f"user {pwd.getpwuid(os.getuid()).pw_name};\n{text}"  # the folder belongs to the user who runs the tests


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _private_memory(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Private_"))


def _size_of_open_files(pid: int) -> int:
    """Return the size of open files, including temporary files without a name."""
    files = (file.stat() for file in Path(f"/proc/{pid}/fd").iterdir())
    return sum(status.st_size for status in files if stat.S_ISREG(status.st_mode))
