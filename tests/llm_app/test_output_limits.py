"""No request asks for more output than its budget reserves, whatever fields a route adds."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_app.adapters.extra_body import TOKEN_FIELDS, within_limit
from llm_app.call.route_settings import parameters_of
from llm_app.models import LogicalModel, Provider, Route


def _parameters(protocol: str = "openai_native", **fields: Any) -> Any:
    model = LogicalModel(name="m", context_window=60_000, max_output_tokens=4_000)
    return parameters_of(Route(model=model, provider=Provider(protocol=protocol), provider_model="m", **fields))


@pytest.mark.parametrize(
    ("extra_body", "limit", "kept"),
    [
        ({"max_tokens": 100_000}, 4_000, {}),
        ({"max_completion_tokens": 900, "top_k": 3}, 900, {"top_k": 3}),
        ({"max_output_tokens": 100_000, "maxOutputTokens": 10}, 10, {}),
        ({"max_tokens": "many", "n": 5, "best_of": 3}, 4_000, {}),
        (
            {"reasoning": {"max_tokens": 30_000, "effort": "high"}},
            4_000,
            {"reasoning": {"max_tokens": 2_976, "effort": "high"}},
        ),
        (
            {"thinking": {"type": "enabled", "budget_tokens": 30_000}},
            4_000,
            {"thinking": {"type": "enabled", "budget_tokens": 2_976}},
        ),
        ({"options": {"num_predict": -1}}, 4_000, {"options": {"num_predict": 2_976}}),
        ({"thinking_budget": 30_000}, 4_000, {"thinking_budget": 2_976}),
    ],
)
def test_fields_that_limit_the_output_are_part_of_the_limit(extra_body: Any, limit: int, kept: Any) -> None:
    parameters = _parameters(extra_body=extra_body)
    assert (parameters.max_tokens, parameters.extra_body) == (limit, kept)


@given(
    st.recursive(
        st.dictionaries(st.sampled_from([*TOKEN_FIELDS, "a", "b"]), st.integers(-1, 10**6)),
        lambda inner: st.dictionaries(st.sampled_from([*TOKEN_FIELDS, "a", "b"]), inner | st.integers(-1, 10**6)),
    )
)
def test_no_token_field_exceeds_the_limit(extra_body: dict[str, Any]) -> None:
    kept, limit = within_limit(extra_body, 4_000)
    assert 0 < limit <= 4_000
    assert not kept.keys() & set(TOKEN_FIELDS)
    assert all(0 <= size <= limit for size in _sizes(kept))


def _sizes(value: Any) -> list[int]:
    if not isinstance(value, dict):
        return []
    sizes = [item for name, item in value.items() if name in TOKEN_FIELDS and isinstance(item, int)]
    return sizes + [size for item in value.values() for size in _sizes(item)]


@pytest.mark.parametrize(
    ("fields", "budget"),
    [
        ({"thinking_budget": 2_000}, 2_000),
        ({"thinking_budget": 30_000}, 2_976),
        ({"thinking_budget": 30_000, "max_tokens": 2_000}, None),
        ({"thinking_budget": 30_000, "quirks": {"thinking_form": "adaptive"}}, 30_000),
        ({"thinking_budget": None}, None),
    ],
)
def test_thinking_leaves_room_for_the_answer(fields: Any, budget: int | None) -> None:
    assert _parameters("anthropic_native", **fields).thinking_budget == budget
