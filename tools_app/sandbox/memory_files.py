"""Files without a name, for what a program shall read but `ps` shall not show."""

import os
from contextlib import ExitStack


class MemoryFiles(ExitStack):
    """Open until the end of the `with` block."""

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
