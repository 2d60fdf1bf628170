"""Models for roles in the configuration file, and breakers of providers whose settings change."""

from typing import Any

import pytest
from django.contrib.auth.models import Group

from agentsite.configuration import ConfigurationError
from llm_app.breaker import changes
from llm_app.models import BreakerState, CircuitBreaker, LogicalModel, Provider

pytestmark = pytest.mark.django_db
PROVIDER = "providers:\n  - {name: p, protocol: openai_native, base_url: http://127.0.0.1:1, api_key: KEY}\n"
MODEL = "models:\n  - {name: m, ROLES}\nroles:\n  - {name: analysts}\n"


def roles() -> list[str]:
    return sorted(LogicalModel.objects.get().roles.values_list("name", flat=True))


def test_model_is_opened_to_new_and_existing_roles(configure: Any) -> None:
    Group.objects.create(name="writers")
    changed = configure(MODEL.replace("ROLES", "roles: [writers, analysts]"))
    assert roles() == ["analysts", "writers"]
    assert "model m: roles [] → [analysts, writers]" in changed
    assert configure(MODEL.replace("ROLES", "roles: [analysts, writers]")) == []


def test_empty_list_of_roles_opens_the_model_and_no_list_keeps_it(configure: Any) -> None:
    configure(MODEL.replace("ROLES", "roles: [analysts]"))
    configure(MODEL.replace(", ROLES", ""))
    assert roles() == ["analysts"]
    configure(MODEL.replace("ROLES", "roles: []"))
    assert roles() == []


def test_unknown_role_is_a_mistake(configure: Any) -> None:
    with pytest.raises(ConfigurationError, match="there is no role called 'ghosts'"):
        configure(MODEL.replace("ROLES", "roles: [ghosts]"))


def test_new_key_in_the_file_closes_the_breaker(configure: Any) -> None:
    configure(PROVIDER.replace("KEY", "wrong"))
    changes.open_breaker(changes.breaker_of(Provider.objects.get()), "It does not accept its key.", key_refused=True)
    configure(PROVIDER.replace("KEY", "wrong"))
    assert CircuitBreaker.objects.get().state == BreakerState.OPEN
    configure(PROVIDER.replace("KEY", "right"))
    assert CircuitBreaker.objects.get().state == BreakerState.CLOSED
