"""The application of a configuration: it creates and updates rows by name, deletes none, and is idempotent."""

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group

from agentsite.serving import first_start
from llm_app.models import LogicalModel, Provider, Route, ServiceKey
from tasks_app.models import Limits
from tests import factories
from tools_app.models import AllowedAddress, RolePolicy, SearchEngine, ToolSetting
from tools_app.policy import policy_for

pytestmark = pytest.mark.django_db

# The example of the public interface, word for word.
EXAMPLE = """\
    providers:
      - name: main                     # unique
        protocol: openai_native        # openai_native | openai_responses | openai_xml | anthropic_native | anthropic_xml | json_schema | litellm | scripted
        base_url: http://127.0.0.1:9000/v1
        api_key: ${MAIN_KEY}           # ${NAME} is read from the environment
        timeout_s: 120
        breaker: {window: 20, failure_ratio: 0.5, min_calls: 5, cooldown_s: 30}
      - name: backup
        protocol: litellm              # every provider that litellm knows
        litellm_provider: gemini
        api_key: ${BACKUP_KEY}
    models:                            # logical models: what users and agents choose
      - name: default
        context_window: 128000
        max_output_tokens: 8192
        providers:                     # tried in order of priority, 1 first
          - {provider: main, model: some-model, priority: 1}
          - {provider: backup, model: other-model, priority: 2}
    roles:
      - name: analysts
        tools: {deny: [shell]}
        budget: {usd_per_month: 50, tokens_per_day: 2000000}
    tools:
      - {name: shell, enabled: true, danger: dangerous, approval: always}   # approval: never | by_danger | always
    users:
      - {username: ada, password: ${ADA_PASSWORD}, roles: [analysts], api_token: ${ADA_TOKEN}}
    limits: {max_iterations: 60, tool_loop_threshold: 5, tool_loop_window: 20, no_tool_call_retries: 3}
    mcp_servers:
      - {name: files, transport: stdio, command: [python, -m, some_server], roles: [analysts]}
      - {name: remote, transport: streamable_http, url: http://127.0.0.1:9200/mcp}
    network: {allow_internal: ["127.0.0.1:9300"]}
    search: {provider: tavily, api_key: ${TAVILY_API_KEY}}
    """
ENVIRONMENT = {
    "MAIN_KEY": "sk: {main} # \"it's",
    "BACKUP_KEY": "sk-backup",
    "ADA_PASSWORD": "correct horse",
    "ADA_TOKEN": "0123456789abcdef0123456789abcdef",
    "TAVILY_API_KEY": "tvly",
}


def test_example_of_the_interface_is_applied_completely(configure: Any) -> None:
    configure(EXAMPLE, ENVIRONMENT)
    main = Provider.objects.get(name="main")
    assert main.api_key == ENVIRONMENT["MAIN_KEY"]
    assert main.breaker == {"window": 20, "failure_ratio": 0.5, "min_calls": 5, "cooldown_s": 30}
    assert [str(route) for route in Route.objects.usable_for("")] == [
        "default → main/some-model",
        "default → backup/other-model",
    ]
    ada = get_user_model().objects.get(username="ada")
    assert ada.check_password("correct horse")
    assert not policy_for(ada.pk).allows("shell")
    assert ToolSetting.objects.get(name="shell").approval == "always"
    assert Limits.current().max_iterations == 60
    assert AllowedAddress.objects.get().address == "127.0.0.1:9300"
    assert SearchEngine.objects.get().kind == "tavily"
    assert ServiceKey.objects.get().value == "tvly"


def test_applying_twice_changes_nothing(configure: Any) -> None:
    assert configure(EXAMPLE, ENVIRONMENT)
    assert configure(EXAMPLE, ENVIRONMENT) == []


def test_settings_outside_the_file_stay(configure: Any) -> None:
    configure(EXAMPLE, ENVIRONMENT)
    changes = configure("providers: [{name: backup, protocol: litellm, litellm_provider: groq}]\n")
    assert changes == ["provider backup: litellm_provider changed"]
    assert Provider.objects.get(name="backup").api_key == "sk-backup"
    assert Provider.objects.count() == 2
    assert Route.objects.count() == 2


def test_key_removed_from_an_item_keeps_its_value(configure: Any) -> None:
    configure("limits: {max_iterations: 7, tool_loop_window: 9}\n")
    assert configure("limits: {max_iterations: 8}\n") == ["limits: max_iterations 7 → 8"]
    assert Limits.current().tool_loop_window == 9


def test_manual_changes_are_reset(configure: Any) -> None:
    configure("tools: [{name: shell, approval: always}]\n")
    ToolSetting.objects.update(approval="never")
    assert configure("tools: [{name: shell, approval: always}]\n") == ["tool shell: approval never → always"]


def test_user_gets_exactly_the_roles_of_the_file(configure: Any) -> None:
    configure("roles: [{name: a}, {name: b}]\nusers: [{username: ada, roles: [a]}]\n")
    assert configure("users: [{username: ada, roles: [b]}]\n") == ["user ada: roles [a] → [b]"]
    assert configure("users: [{username: ada}]\n") == []
    assert Group.objects.count() == 2


def test_empty_danger_restores_the_tools_default(configure: Any) -> None:
    configure("tools: [{name: shell, danger: dangerous}]\n")
    configure("tools: [{name: shell, danger: }]\n")
    assert ToolSetting.objects.get().danger == ""


def test_allowing_tools_of_a_role_keeps_its_denied_tools(configure: Any) -> None:
    configure("roles: [{name: a, tools: {deny: [shell]}}]\n")
    configure("roles: [{name: a, tools: {allow: [file]}}]\n")
    policy = RolePolicy.objects.get()
    assert (policy.allow, policy.deny) == (["file"], ["shell"])


# --- the default model ------------------------------------------------------------------------------------------
REAL = """\
    providers: [{name: main, protocol: openai_native, base_url: "http://llm:8000/v1"}]
    models:
      - name: NAME
        providers: [{provider: main, model: some-model}]
    """


def test_real_model_replaces_the_demo(configure: Any) -> None:
    first_start.ensure_model()
    changes = configure(REAL.replace("NAME", "default"))
    assert [str(route) for route in Route.objects.all()] == ["default → main/some-model"]
    assert "route default → demo/demo: removed, the demo only stood in for a model" in changes


def test_first_model_replaces_the_demo_if_none_is_called_default(configure: Any) -> None:
    first_start.ensure_model()
    configure(REAL.replace("NAME", "sharp"))
    assert LogicalModel.objects.get(is_default=True).name == "sharp"
    assert str(Route.objects.usable_for("").get()) == "sharp → main/some-model"


def test_existing_default_model_stays(configure: Any) -> None:
    factories.RouteFactory(model__is_default=True, model__name="ours", provider_model="script")
    configure(REAL.replace("NAME", "sharp"))
    assert LogicalModel.objects.get(is_default=True).name == "ours"


def test_model_called_default_becomes_the_default(configure: Any) -> None:
    factories.RouteFactory(model__is_default=True, model__name="ours", provider_model="script")
    assert "model default: is the default model now, in place of ours" in configure(REAL.replace("NAME", "default"))
    assert LogicalModel.objects.get(is_default=True).name == "default"


# --- routes -----------------------------------------------------------------------------------------------------
TWO = """\
    providers: [{name: a, protocol: scripted}, {name: b, protocol: scripted}]
    models: [{name: m, providers: [ROUTES]}]
    """


def targets() -> list[str]:
    return [f"{route.provider}/{route.provider_model}" for route in Route.objects.usable_for("m")]


def test_routes_without_priority_follow_the_order_of_the_file(configure: Any) -> None:
    configure(TWO.replace("ROUTES", "{provider: b, model: x}, {provider: a, model: y}"))
    assert targets() == ["b/x", "a/y"]


def test_other_model_at_the_same_provider_replaces_the_route(configure: Any) -> None:
    configure(TWO.replace("ROUTES", "{provider: a, model: old}, {provider: b, model: y}"))
    configure(TWO.replace("ROUTES", "{provider: a, model: new}, {provider: b, model: y}"))
    assert targets() == ["a/new", "b/y"]


def test_route_removed_from_the_file_moves_to_the_end(configure: Any) -> None:
    configure(TWO.replace("ROUTES", "{provider: a, model: x}, {provider: b, model: y}"))
    changes = configure(TWO.replace("ROUTES", "{provider: b, model: y, priority: 1}"))
    assert targets() == ["b/y", "a/x"]
    assert "route m → a/x, which is not in the file: priority 1 → 2" in changes
    assert configure(TWO.replace("ROUTES", "{provider: b, model: y, priority: 1}")) == []


def test_price_and_parameters_of_a_route_are_stored(configure: Any) -> None:
    route = "{provider: a, model: x, price: {input: 3, output: 15}, temperature: 0.2, takes_images: true, extra_body: {top_k: 5}}"
    configure(TWO.replace("ROUTES", route))
    row = Route.objects.get()
    assert (row.price, row.temperature, row.extra_body) == ({"input": 3, "output": 15}, 0.2, {"top_k": 5})
    assert row.takes_images
    assert configure(TWO.replace("ROUTES", route)) == []
