"""Agents, and the workflows that their tasks may go through."""

import re
from typing import Annotated

from django.conf import settings
from pydantic import AfterValidator, StringConstraints

from agentsite.configuration.section import Name, Section
from tasks_app.models.agent import SECTIONS
from tools_app.hooks.loading import choices

Text = Annotated[str, StringConstraints(strip_whitespace=True, max_length=20_000)]
Title = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]


def _known(name: str) -> str:
    if name not in SECTIONS:
        raise ValueError(f"there is no section called {name!r}; there are {', '.join(SECTIONS)}")
    return name


def _expression(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"no regular expression: {error}") from error
    return pattern


def _hook(name: str) -> str:
    known = choices(tuple(settings.HOOKS))
    if name not in known:
        raise ValueError(f"there is no hook called {name!r}; there are {', '.join(known)}")
    return name


Pattern = Annotated[str, AfterValidator(_expression)]


class Agent(Section):
    """`sections` are those of its prompt that differ from what ships; an empty text brings that back.

    The keys from `safe_mode` to `termination_review` switch single `hooks` on and off.
    """

    name: Name
    description: str = ""
    default: bool = False
    model: Name | None = None
    denied_tools: list[Name] = []
    hooks: list[Annotated[str, AfterValidator(_hook)]] = []
    safe_mode: bool = False
    autopilot: bool = False
    self_verification: bool = False
    termination_review: bool = False
    review_model: Name | None = None
    withheld_patterns: list[Pattern] = []
    prune_outputs: bool = False
    shorten_results: bool = False
    summarise: bool = False
    sections: dict[Annotated[str, AfterValidator(_known)], Text] = {}


class WorkflowStep(Section):
    title: Title
    instructions: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class Workflow(Section):
    name: Name
    description: str = ""
    steps: list[WorkflowStep] = []
