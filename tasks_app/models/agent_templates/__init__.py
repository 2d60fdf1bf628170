"""Templates of agents, one YAML file each, with which an administrator's form can begin."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml


@dataclass(frozen=True, kw_only=True)
class AgentTemplate:
    """The form values of a template by field name. `tries` is an example of a first message."""

    key: str
    values: dict[str, Any]
    tries: str


@cache
def load_all() -> dict[str, AgentTemplate]:
    contents = ((file.stem, yaml.safe_load(file.read_text())) for file in sorted(Path(__file__).parent.glob("*.yml")))
    return {key: AgentTemplate(key=key, tries=values.pop("tries"), values=values) for key, values in contents}
