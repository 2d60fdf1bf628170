"""Mistakes in the configuration file: all are listed with their lines, and no value of the file is repeated."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsite.configuration import ConfigurationError, load
from agentsite.configuration.document import YamlDocument
from llm_app.models import Provider
from tests import factories

Write = Callable[[str], Path]
pytestmark = pytest.mark.django_db

MISTAKES = {
    "an unknown section": ("limits: {}\nprovider: []\n", 2, "provider: there is no such key"),
    "an unknown key": ("tools:\n  - name: shell\n    dangr: safe\n", 3, "tools[0].dangr: there is no such key"),
    "a missing key": (
        "providers:\n  - base_url: http://a\n    protocol: scripted\n",
        2,
        "providers[0].name: is missing",
    ),
    "a value that is none of the choices": (
        "tools:\n  - name: shell\n    approval: sometimes\n",
        3,
        "tools[0].approval: should be 'never', 'by_danger' or 'always'",
    ),
    "a number that is a word": (
        "limits:\n  max_iterations: many\n",
        2,
        "limits.max_iterations: should be a valid integer",
    ),
    "a number that is a yes": ("limits:\n  max_iterations: yes\n", 2, "limits.max_iterations: should be a number"),
    "a number that is too small": ("limits:\n\n  max_iterations: 0\n", 3, "should be greater than or equal to 1"),
    "a number that is none": (
        "providers:\n - {name: a, protocol: scripted, timeout_s: .nan}\n",
        2,
        "timeout_s: should be",
    ),
    "a password that is a number": ("users:\n  - username: ada\n    password: 12345\n", 3, "should be a valid string"),
    "a section that is no list": ("providers: main\n", 1, "providers: should be a valid list"),
    "an item that is no mapping": ("roles:\n  - name: a\n  - b\n", 3, "roles[1]: should be a mapping"),
    "a file that is a list": ("- a\n- b\n", 1, "should be a mapping"),
    "the same name twice": ("roles:\n  - name: a\n  - name: b\n  - name: a\n", 4, "the same name as roles[0]"),
    "the same user twice": ("users:\n  - username: ada\n  - username: ada\n", 3, "the same username as users[0]"),
    "the same token twice": (
        "users:\n  - {username: ada, api_token: abc}\n  - {username: bob, api_token: abc}\n",
        3,
        "users[1].api_token: the same api_token as users[0]",
    ),
    "the same key twice": (
        "limits:\n  max_iterations: 3\n  max_iterations: 4\n",
        3,
        "the key 'max_iterations' appears twice",
    ),
    "the same route twice": (
        "providers: [{name: p, protocol: scripted}]\nmodels:\n  - name: m\n    providers:\n"
        "      - {provider: p, model: x}\n      - {provider: p, model: x}\n",
        6,
        "the same provider and model appear twice in models[0]",
    ),
    "a provider that nobody set up": (
        "models:\n  - name: m\n    providers:\n      - provider: mian\n        model: x\n",
        4,
        "models[0].providers[0].provider: there is no provider called 'mian'",
    ),
    "a role that nobody set up": (
        "users:\n  - username: ada\n    roles:\n    - ghosts\n",
        4,
        "there is no role called 'ghosts'",
    ),
    "litellm without its provider": (
        "providers:\n  - name: a\n    protocol: litellm\n",
        2,
        "litellm_provider is missing",
    ),
    "a provider without an address": ("providers:\n  - {name: a, protocol: openai_native}\n", 2, "base_url is missing"),
    "an address without a scheme": (
        "providers:\n  - name: a\n    protocol: openai_native\n    base_url: api.example.com\n",
        4,
        "should be a whole address",
    ),
    "stdio without a command": ("mcp_servers:\n  - {name: a, transport: stdio}\n", 2, "command is missing"),
    "an address that is no host": ("network:\n  allow_internal:\n    - a b\n", 3, "neither a host nor host:port"),
    "an unset variable": (
        "users:\n  - username: ada\n    password: ${NOBODY_SET_THIS}\n",
        3,
        "${NOBODY_SET_THIS} is not set",
    ),
    "a default for a variable": ("users:\n  - username: ada\n    password: ${A:-b}\n", 3, "only ${NAME} is replaced"),
    "no YAML": ("limits: {\n", 2, "not valid YAML"),
    "a tag of Python": ("limits: !!python/object/apply:os.getcwd []\n", 1, "not valid YAML"),
    "two documents": ("limits: {}\n---\nlimits: {}\n", 2, "not valid YAML"),
}


@pytest.mark.parametrize(("text", "line", "words"), MISTAKES.values(), ids=MISTAKES.keys())
def test_mistake_has_its_line(text: str, line: int, words: str, write: Write) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load(write(text), {})
    assert [mistake.line for mistake in caught.value.mistakes] == [line], str(caught.value)
    assert words in caught.value.mistakes[0].text
    assert f"agentsite.yml:{line}: " in str(caught.value)


def test_all_mistakes_are_listed_together(write: Write) -> None:
    text = """\
        providers:
          - name: main
            protocol: telepathy
        models:
          - name: default
            context_window: wide
            providers:
              - {provider: mian, model: x}
        users:
          - {username: ada, password: "${UNSET}", roles: [ghosts]}
        """
    with pytest.raises(ConfigurationError) as caught:
        load(write(text), {})
    assert [mistake.line for mistake in caught.value.mistakes] == [3, 6, 8, 10, 10]
    assert "has 5 mistakes" in str(caught.value)


def test_existing_provider_and_role_can_be_referenced(write: Write) -> None:
    factories.ProviderFactory(name="there")
    text = "models: [{name: m, providers: [{provider: there, model: x}]}]\n"
    assert load(write(text), {}).configuration.models[0].providers[0].provider == "there"


def test_mistake_does_not_repeat_a_value(write: Write) -> None:
    text = """\
        providers:
          - {name: main, protocol: "${KEY}", base_url: "${KEY}", timeout_s: "${KEY}", api_key: ["${KEY}"]}
        limits: {max_iterations: "${KEY}"}
        search: {provider: "${KEY}", api_key: "${KEY}"}
        """
    with pytest.raises(ConfigurationError) as caught:
        load(write(text), {"KEY": "sk-very-secret"})
    assert len(caught.value.mistakes) == 6
    assert "sk-very-secret" not in str(caught.value)


def test_invalid_yaml_line_is_not_repeated(write: Write) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load(write("providers:\n  - {name: main, api_key: sk-very-secret, base_url: @}\n"), {})
    assert caught.value.mistakes[0].line == 2
    assert "sk-very-secret" not in str(caught.value)


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b"a: \x00"])
def test_binary_file_is_a_mistake(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "binary.yml"
    path.write_bytes(data)
    with pytest.raises(ConfigurationError):
        load(path, {})


def test_missing_file_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load(tmp_path / "none.yml", {})


def test_empty_file_is_valid(write: Write) -> None:
    assert load(write("# nothing yet\n"), {}).configuration.model_fields_set == set()
    assert not Provider.objects.exists()


@given(st.text(st.sampled_from("a1 :-[]{}#&*!|>'\"%@`,?\n\t${}\ue000\ue001é\U0001f600") | st.characters(), max_size=60))
def test_any_text_is_parsed_without_an_exception(text: str) -> None:
    document = YamlDocument(text, {"a": "b"})
    assert all(mistake.line >= 1 for mistake in document.mistakes)
    assert document.line_of(["a", 0, "b"]) >= 1


@pytest.mark.parametrize("address", ["http://", "http://[::1", "http://host:port", "http://host:99999", "ftp://host"])
def test_address_must_be_complete(address: str, write: Write) -> None:
    with pytest.raises(ConfigurationError, match="should be a whole address"):
        load(write(f"providers: [{{name: a, protocol: openai_native, base_url: '{address}'}}]\n"), {})
