"""Models that a user can use for tasks which the conversation's own model may not support."""

from dataclasses import dataclass

from llm_app.models import LogicalModel, ModelKind, Route
from llm_app.sql import cached_sql, fetch_all


@dataclass(frozen=True, kw_only=True)
class ModelsByAbility:
    """Names of logical models: one that sees pictures, and one each that makes images, speech and embeddings.

    Empty: none. `preferred_sees`: the conversation's own model sees pictures.
    """

    sees: str = ""
    preferred_sees: bool = False
    makes_images: str = ""
    makes_audio: str = ""
    embeds: str = ""


def models_of_user(user_id: int | None, preferred: str = "") -> ModelsByAbility:
    """Return the abilities that a user's models have, with one query.

    `preferred` is the conversation's own model (empty: the default one). It is chosen if it has the ability.
    """
    rows = sorted(_open_routes(user_id), key=lambda row: row[0] != preferred)
    own = preferred or next((name for name, *_, is_default in rows if is_default), "")
    return ModelsByAbility(
        preferred_sees=any(sees for name, _, sees, _ in rows if name == own),
        sees=next((name for name, kind, sees, _ in rows if sees and kind == ModelKind.TEXT), ""),
        makes_images=next((name for name, kind, *_ in rows if kind == ModelKind.IMAGE), ""),
        makes_audio=next((name for name, kind, *_ in rows if kind == ModelKind.AUDIO), ""),
        embeds=next((name for name, kind, *_ in rows if kind == ModelKind.EMBEDDING), ""),
    )


@cached_sql
def _open_routes(user: int | None) -> list[tuple[str, str, bool, bool]]:
    """Return the model's name and kind of each allowed route, whether it takes pictures, and whether its model is the
    default.
    """
    routes = Route.objects.filter(provider__enabled=True, model__in=LogicalModel.objects.open_to(user))
    by_name = routes.order_by("-model__is_default", "model__name")
    return fetch_all(by_name.values_list("model__name", "model__kind", "takes_images", "model__is_default"))
