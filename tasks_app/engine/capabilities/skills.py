"""The skills of a task's person."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from django.conf import settings

from llm_app.call import Runner
from tasks_app.run import History
from tasks_app.runtime import process
from tools_app.errors import ToolError
from tools_app.models import Skill
from tools_app.skills import SkillFolder, SkillText, installed_skills, state_of


def catalogue(user_id: int) -> tuple[tuple[str, str], ...]:
    """Return names and descriptions. An uploaded skill hides an installed one of the same name."""
    descriptions = {name: skill.description for name, skill in _installed().items()}
    descriptions |= dict(Skill.objects.usable_by(user_id).values_list("name", "description"))
    return tuple(sorted(descriptions.items()))


def state_of_folders() -> tuple[object, ...]:
    """Return a value that changes whenever an installed skill is added, removed or changed."""
    return state_of(str(settings.SKILLS_DIR))


class StoredSkills:
    """The implementation of `capabilities.Skills` for one task. `names` are the skills that its model knows of."""

    def __init__(self, user_id: int, names: Sequence[str], history: History) -> None:
        self._user_id, self._names, self._history = user_id, names, history

    async def get(self, name: str) -> SkillText:
        return await process.in_thread(partial(self._load, name))

    def _load(self, name: str, run: Runner) -> SkillText:
        row = Skill.objects.usable_by(self._user_id).filter(name=name).first()
        if row is not None and name in self._names:
            return row.text
        if name not in (installed := _installed()) or name not in self._names:
            raise ToolError(f"There is no skill called {name!r}. The skills are: {', '.join(self._names)}.")
        return installed[name].load()

    def is_in_view(self, skill: SkillText) -> bool:
        """Return whether the model still sees the entire text from an earlier load."""
        return any(entry.tool_call_id and entry.content.startswith(skill.for_model) for entry in self._history.entries)


def _installed() -> Mapping[str, SkillFolder]:
    return installed_skills(Path(settings.SKILLS_DIR))
