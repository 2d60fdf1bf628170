"""What a session loads on demand, and keeps."""

from collections.abc import Sequence

from tasks_app.models import Loaded, LoadedKind, Session
from tools_app.contract.effects import Effect, LoadGroup, LoadSkill


def rows_of(session: Session, effects: Sequence[Effect]) -> list[Loaded]:
    """For the transaction of the result."""
    named = [_named(effect) for effect in effects if isinstance(effect, LoadGroup | LoadSkill)]
    known = set(Loaded.objects.filter(session=session).values_list("kind", "name")) if named else set()
    return [Loaded(session=session, kind=kind, name=name) for kind, name in named if (kind, name) not in known]


def _named(effect: LoadGroup | LoadSkill) -> tuple[str, str]:
    if isinstance(effect, LoadGroup):
        return LoadedKind.GROUP, effect.group
    return LoadedKind.SKILL, effect.name


def groups_of(session: Session) -> frozenset[str]:
    return frozenset(Loaded.objects.filter(session=session, kind=LoadedKind.GROUP).values_list("name", flat=True))
