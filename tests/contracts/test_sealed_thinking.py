"""Sealed thinking only goes to the account that made it: after failover, a new key, or a change behind a gateway."""

from collections.abc import Callable
from itertools import permutations
from typing import Any

import pytest

from llm_app.models import LearnedQuirk, LLMLog, Provider
from tests.contracts import whole_tasks
from tests.contracts.accounts import Account
from tests.contracts.anthropic import OPUS_5_5, SONNET_4_5
from tests.contracts.contract import Contract
from tests.contracts.gemini import GEMINI
from tests.contracts.openai_chat import GPT_5
from tests.contracts.openai_responses import RESPONSES
from tests.contracts.said import result, says
from tests.contracts.thinkers import DEEPSEEK, DEEPSEEK_ANTHROPIC, KIMI

BUDGET = {"thinking_budget": 2_000}
SEALING = [(RESPONSES, "openai_responses"), (SONNET_4_5, "anthropic_native"), (OPUS_5_5, "anthropic_native")]
SEALING += [(GEMINI, "openai_native")]
THINKING = [*SEALING, (GPT_5, "openai_native"), (DEEPSEEK, "openai_native"), (KIMI, "openai_native")]
THINKING += [(DEEPSEEK_ANTHROPIC, "anthropic_native")]
sealing = pytest.mark.parametrize(("contract", "protocol"), SEALING, ids=[contract.name for contract, _ in SEALING])


def _write_and_answer(made: Any, number: int) -> None:
    """Play a task of two calls, both with thinking."""
    made.providers[0].script += [
        says(whole_tasks.write(number), thinking=f"I write {number}."),
        says(result().calls[0], thinking="It is written."),
    ]
    assert made.post("Write a file.").advance().state == "done"


@pytest.mark.parametrize("pair", permutations(THINKING, 2), ids=lambda pair: "-".join(made.name for made, _ in pair))
def test_thinking_models_take_each_other_s_histories(world: Callable[..., Any], pair: Any) -> None:
    accounts = [(Account(contract).bound, protocol) for contract, protocol in pair]
    made = world(*accounts, **BUDGET)
    whole_tasks.failover(made)
    made.check()


@sealing
def test_another_account_of_the_same_model_gets_nothing_sealed(
    world: Callable[..., Any], contract: Contract, protocol: str
) -> None:
    made = world((Account(contract).bound, protocol), (Account(contract).bound, protocol), **BUDGET)
    whole_tasks.failover(made)
    made.check()
    assert not LearnedQuirk.objects.exists()


@sealing
def test_a_new_key_gets_nothing_sealed_before(world: Callable[..., Any], contract: Contract, protocol: str) -> None:
    account = Account(contract)
    made = world((account.bound, protocol), **BUDGET)
    _write_and_answer(made, 1)
    Provider.objects.update(api_key="sk-another-key")
    account.sealed.clear()
    _write_and_answer(made, 2)
    _write_and_answer(made, 3)
    made.check()


@sealing
def test_a_changed_account_behind_a_gateway_costs_one_refusal(
    world: Callable[..., Any], contract: Contract, protocol: str
) -> None:
    account = Account(contract)
    made = world((account.bound, protocol), **BUDGET)
    _write_and_answer(made, 1)
    account.sealed.clear()
    for number in (2, 3, 4):
        _write_and_answer(made, number)
    assert len(made.providers[0].refusals) == 1
    failed = LLMLog.objects.get(status="failed")
    assert (failed.error_type, failed.parameters.get("quirks", {}).get("sealed_epoch")) == ("SealedPartRefused", None)
    assert LearnedQuirk.objects.get().quirk == "sealed_epoch"


@sealing
def test_a_forgotten_quirk_sends_what_was_sealed_at_first(
    world: Callable[..., Any], contract: Contract, protocol: str
) -> None:
    """An administrator deletes the quirk after the account has come back."""
    account = Account(contract)
    made = world((account.bound, protocol), **BUDGET)
    _write_and_answer(made, 1)
    first = set(account.sealed)
    account.sealed.clear()
    _write_and_answer(made, 2)
    LearnedQuirk.objects.all().delete()
    account.sealed = first
    _write_and_answer(made, 3)
    assert len(made.providers[0].refusals) == 1
