"""The log that the fake tools write of their runs (`plugin/faults_tools.py`)."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Run:
    run: str
    pid: int
    has_ended: bool


class ToolLog:
    def __init__(self, path: Path) -> None:
        self._path = path

    def runs(self) -> dict[str, Sequence[Run]]:
        """Return the runs by the mark of their call, in order of their start."""
        lines = self._path.read_text().splitlines() if self._path.exists() else []
        events = [json.loads(line) for line in lines if line.endswith("}")]
        ended = {event["run"] for event in events if event["event"] == "ended"}
        runs: dict[str, list[Run]] = {}
        for event in events:
            if event["event"] == "began":
                runs.setdefault(event["mark"], []).append(Run(event["run"], event["pid"], event["run"] in ended))
        return runs
