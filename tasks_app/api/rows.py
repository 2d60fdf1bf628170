"""Lists as cursors page through them, by queries that are composed once."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.db import connection
from django.db.models import Model, QuerySet

from llm_app.sql import Select

MOST_ROWS = 2**31 - 1  # seq is a 32-bit column
Query = Callable[..., "QuerySet[Any, Any]"]


@dataclass(frozen=True, kw_only=True)
class Rows:
    """A queryset, as far as a cursor needs one.

    `find` makes the queryset of the values `of` whom it is, and `filters` narrow it; a page is cut of that. `show`, if
    given, makes of its rows what is answered: what belongs to a row is dear to sort by the thousand. Both are functions
    of a module: with the names of the filters, the order and the size of the page they are the key of a page's query.
    What `varies` from one request to the next is composed anew. With `names`, each row is a dict.
    """

    model: type[Model]
    find: Query
    show: Query | None = None
    of: Sequence[Any] = ()
    filters: Mapping[str, Any] = field(default_factory=dict)
    position: Mapping[str, Any] = field(default_factory=dict)
    ordering: tuple[str, ...] = ()
    names: Sequence[str] = ()
    varies: bool = False

    def order_by(self, *ordering: str) -> "Rows":
        return replace(self, ordering=ordering)

    def filter(self, **position: Any) -> "Rows":
        """From the cursor's position on."""
        return replace(self, position=position)

    def __getitem__(self, part: slice) -> list[Any]:
        """Raises ValueError and ValidationError for a position that somebody made up."""
        narrowed = (*self.filters, *self.position)
        shape = (self.find, self.show, narrowed, self.ordering, part.start, part.stop)
        if self.varies:
            found: Any = _page(*shape, *self.of, *self.filters.values(), *self.position.values())
        else:
            position = [_prepared(self.model, lookup, value) for lookup, value in self.position.items()]
            of = [value.pk if isinstance(value, Model) else value for value in self.of]
            found = _composed(*shape).rows(*of, *self.filters.values(), *position)
        return [dict(zip(self.names, row, strict=True)) for row in found] if self.names else list(found)


def as_time(moment: datetime) -> str:
    """As DRF's fields have it; the zone of a browser is for its pages."""
    return moment.isoformat().replace("+00:00", "Z")


def _prepared(model: type[Model], lookup: str, value: Any) -> Any:
    """As the database takes it; a number beyond those of a column is as good as the last one."""
    column: Any = model._meta.get_field(lookup.partition("__")[0])
    prepared = column.get_db_prep_value(value, connection)
    return min(prepared, MOST_ROWS) if isinstance(prepared, int) else prepared


@lru_cache(maxsize=256)
def _composed(*shape: Any) -> Select[Any]:
    return Select(lambda *values: _page(*shape, *values))


def _page(
    find: Query,
    show: Query | None,
    filters: Sequence[str],
    ordering: Sequence[str],
    start: int,
    stop: int,
    *values: Any,
) -> "QuerySet[Any, Any]":
    of = values[: len(values) - len(filters)]
    found = find(*of).filter(**dict(zip(filters, values[len(of) :], strict=True)))
    if show is None:
        return found.order_by(*ordering)[start:stop]
    ordering = (*ordering, "-pk" if ordering[0].startswith("-") else "pk")  # both queries have the same one
    return show(*of).filter(pk__in=found.order_by(*ordering).values("pk")[start:stop]).order_by(*ordering)
