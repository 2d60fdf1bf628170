"""The facts about a task that decide which tools a model sees, in addition to the policies of administrators."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ToolVisibility:
    """Facts, compared by value: the tool list is rebuilt only when one of them changes.

    - `makes_images`, `makes_audio`, `sees_pictures`: the task's person can use a model that does so.
    - `has_open_page`: the session's browser shows a page.
    - `has_jobs`: commands of the session run in the background.
    - `answers_only`: only the tool `message` is left.
    - `in_workflow`: the task has the steps of a workflow instead of a plan.
    - `has_cut`: the model sees only an outline of the beginning of the conversation.
    - `has_groups`: there are groups of tools to load. `loaded` are the groups that the session has loaded.
    - `skills`: name and description of each skill that the task's person can use.
    - `handoffs`: name and description of each agent to which the acting agent can hand on.
    - `may_delegate`: the task can delegate. `shows_delegate`: models see that. `agents`: the agents to which it can.
    - `has_library`: the session's project has files to search.
    - `output_schema`: the JSON Schema, as text, for the data of the result, or "".
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
