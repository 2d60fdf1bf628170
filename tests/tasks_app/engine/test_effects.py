"""Every effect of the contract has a handler, so that no declared effect is lost."""

import gc

import pytest

from tasks_app.engine.effects import registry
from tools_app.contract import effects


def test_all_effects_of_the_contract_have_a_handler():
    declared = {
        value for value in vars(effects).values() if isinstance(value, type) and issubclass(value, effects.Effect)
    }
    assert declared - {effects.Effect} <= registry._handlers.keys()
    registry.check_handlers()


def test_an_unhandled_effect_prevents_the_start():
    class Nobodys(effects.Effect):
        pass

    with pytest.raises(TypeError, match="Nobodys"):
        registry.check_handlers()
    with pytest.raises(KeyError):
        registry.apply([Nobodys()], None)
    del Nobodys
    gc.collect()
    registry.check_handlers()


def test_a_type_of_effect_has_one_handler():
    with pytest.raises(AssertionError, match="SetPlan has two handlers"):
        registry.handles(effects.SetPlan)(lambda effect, changes: None)
