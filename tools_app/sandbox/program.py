"""A program, started in its own process group and without the server's environment or descriptors."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tools_app.files import Owner


@dataclass(frozen=True, kw_only=True)
class Program:
    """`files` are open file descriptors that it inherits under the same numbers. Without `owner` it keeps our uid."""

    words: Sequence[str]
    environment: Mapping[str, str]
    directory: Path = Path("/")
    owner: Owner | None = None
    files: Sequence[int] = ()
    stdin: int = subprocess.DEVNULL

    def start(self) -> "subprocess.Popen[bytes]":
        """Raises OSError if it cannot be started."""
        uid, gid = self.owner or (None, None)
        return subprocess.Popen(
            self.words,
            env=self.environment,
            cwd=self.directory,
            stdin=self.stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            bufsize=0,
            pass_fds=self.files,
            start_new_session=True,
            user=uid,
            group=gid,
            extra_groups=[] if self.owner else None,
        )


class MemoryFiles(ExitStack):
    """Files without a name, for what a program must read but `ps` must not show. Open until the `with` block ends."""

    def __init__(self) -> None:
        super().__init__()
        self.descriptors: list[int] = []

    def add(self, content: str) -> int:
        """The descriptor of a file with `content`, at its beginning."""
        descriptor = os.memfd_create("sandbox")
        self.callback(os.close, descriptor)
        self.descriptors.append(descriptor)
        with open(descriptor, "wb", closefd=False) as file:
            file.write(os.fsencode(content))
        os.lseek(descriptor, 0, os.SEEK_SET)
        return descriptor
