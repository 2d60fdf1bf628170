"""What a session loads on demand, and keeps."""

from collections.abc import Sequence

from tasks_app.models import Loaded, LoadedKind, Session
from tools_app.effects import Effect, LoadGroup


def rows_of(session: Session, effects: Sequence[Effect]) -> list[Loaded]:
    """For the transaction of the result."""
    groups = {effect.group for effect in effects if isinstance(effect, LoadGroup)} - groups_of(session)
    return [Loaded(session=session, kind=LoadedKind.GROUP, name=name) for name in sorted(groups)]


def groups_of(session: Session) -> frozenset[str]:
    return frozenset(Loaded.objects.filter(session=session, kind=LoadedKind.GROUP).values_list("name", flat=True))
