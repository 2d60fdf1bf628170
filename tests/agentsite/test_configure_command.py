"""`manage.py configure`: its output, its exit status, and `--check`."""

from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from agentsite.models import AppliedValue
from tools_app.models import AllowedAddress, ToolSetting

pytestmark = pytest.mark.django_db
Write = Callable[[str], Path]


def configure(path: Path, *options: str) -> str:
    out = StringIO()
    call_command("configure", str(path), *options, stdout=out)
    return out.getvalue()


def test_configure_prints_changes_then_that_nothing_changed(write: Write) -> None:
    path = write("tools: [{name: shell, approval: always}]\n")
    assert configure(path) == f"{path} changed:\n  tool shell: created\n"
    assert configure(path) == f"{path} changed nothing.\n"


def test_check_prints_changes_without_applying_them(write: Write) -> None:
    path = write("tools: [{name: shell, approval: always}]\nusers: [{username: ada, password: secret-word}]\n")
    said = configure(path, "--check")
    assert "would change:\n  tool shell: created\n" in said
    assert not ToolSetting.objects.exists()
    assert not AppliedValue.objects.exists()
    assert configure(path) == said.replace("would change", "changed")


def test_mistake_exits_with_status_1_and_changes_nothing(write: Write) -> None:
    path = write("tools: [{name: shell, approval: always}]\nlimits: {max_iterations: none}\n")
    with pytest.raises(CommandError, match=f"{path}:2: limits.max_iterations") as caught:
        configure(path)
    assert caught.value.returncode == 1
    assert not ToolSetting.objects.exists()


def test_unknown_tools_are_noted(write: Write) -> None:
    said = configure(
        write("tools: [{name: shel, enabled: false}]\nroles: [{name: r, tools: {deny: [shell, brwser]}}]\n")
    )
    assert "note: tool shel: there is no such tool" in said
    assert "note: tool brwser: there is no such tool" in said
    assert "note: tool shell:" not in said


def test_removed_internal_address_is_noted(write: Write) -> None:
    AllowedAddress.objects.create(address="10.0.0.1")
    assert "note: network: 10.0.0.1 is not in the file and stays allowed" in configure(
        write("network: {allow_internal: [10.0.0.2]}\n")
    )


def test_short_token_is_noted_without_its_value(write: Write) -> None:
    said = configure(write("users: [{username: ada, api_token: abc123}]\n"))
    assert "note: user ada: the api_token is short" in said
    assert "abc123" not in said


PRICE = ", price: {input: 0, output: 0}"
ROUTED = """
providers: [{name: main, protocol: openai_native, base_url: "http://127.0.0.1:9/v1"}]
models: [{name: default, providers: [{provider: main, model: local-model%s}]}]
"""


@pytest.mark.parametrize(
    "budget",
    [
        "roles: [{name: r, budget: {usd_per_month: 5}}]",
        "users: [{username: ada, budget: {usd_per_task: 5}}]",
        "limits: {budget: {usd_per_day: 5}}",
    ],
)
def test_model_without_a_price_is_noted_for_dollar_limits(budget: str, write: Write) -> None:
    path = write(ROUTED % "" + budget)
    warning = "note: prices: No price is known for local-model at main: limits in US dollars never stop these calls"
    assert warning in configure(path, "--check")
    assert warning in configure(path)
    assert warning in configure(path)  # also when nothing changes


@pytest.mark.parametrize(
    ("price", "budget"), [("", "usd_per_day: null"), ("", "tokens_per_day: 5"), (PRICE, "usd_per_day: 5")]
)
def test_price_or_token_limit_causes_no_note(price: str, budget: str, write: Write) -> None:
    assert "No price" not in configure(write(ROUTED % price + f"limits: {{budget: {{{budget}}}}}"))
