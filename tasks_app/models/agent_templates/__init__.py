"""Agents to start from: a file for each, which an administrator's form begins with."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml


@dataclass(frozen=True, kw_only=True)
class AgentTemplate:
    """`values` are those of the form, by name; `tries` is a first message that shows what the agent is for."""

    key: str
    values: dict[str, Any]
    tries: str


@cache
def shipped() -> dict[str, AgentTemplate]:
    found = ((file.stem, yaml.safe_load(file.read_text())) for file in sorted(Path(__file__).parent.glob("*.yml")))
    return {key: AgentTemplate(key=key, tries=values.pop("tries"), values=values) for key, values in found}
