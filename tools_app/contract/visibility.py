"""The facts about a task that decide which tools a model sees, besides what an administrator allows."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ToolVisibility:
    """Compared by value: the tool list is rebuilt only when something of this changes.

    `makes_images`, `makes_audio` and `sees_pictures` say that a model which can is open to the task's person;
    `has_open_page`, that the session's browser shows a page; `has_jobs`, that commands of it run in the background;
    `answers_only`, that only `message` is left; `in_workflow`, that the task has the steps of one in place of a plan;
    `has_cut`, that the model sees only an outline of the conversation's beginning. `loaded` are the groups of tools
    that the session has loaded, `has_groups` says that there are such, `skills` names those that are open to the
    task's person, with descriptions; so do `handoffs` with the agents to whom the acting one may hand on.
    `may_delegate` says that tasks may be delegated here, `shows_delegate` that models are told so, and `agents` to
    whom. `has_library` says that the session's project has files that can be searched.
    `output_schema` is the JSON Schema, as text, that the data of the result must fit; empty if none was asked for.
    """

    makes_images: bool = False
    makes_audio: bool = False
    sees_pictures: bool = False
    has_open_page: bool = False
    has_jobs: bool = False
    answers_only: bool = False
    in_workflow: bool = False
    has_cut: bool = False
    loaded: frozenset[str] = frozenset()
    has_groups: bool = False
    skills: tuple[tuple[str, str], ...] = ()
    handoffs: tuple[tuple[str, str], ...] = ()
    may_delegate: bool = False
    shows_delegate: bool = False
    agents: tuple[tuple[str, str], ...] = ()
    has_library: bool = False
    output_schema: str = ""
