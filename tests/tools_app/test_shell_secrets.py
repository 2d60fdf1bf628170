"""Tests that a secret reaches a command unchanged, with any content and quoting, and is not part of the command."""

import os
import subprocess

import pytest

from tools_app.shell.secrets import as_variables

VALUES = [
    "ghp_0a1B2c3D4e",
    "pa\"ss' $(id) `id` $HOME \\ !x ; rm -rf / # &",
    "two\nlines  and  blanks",
    "[secret:B] %s *",
]
A = "[secret:A]"


def printed(command: str, value: str) -> str:
    text, environment = as_variables(command, {A: value, "[secret:B]": "another-value"})
    ran = subprocess.run(
        ["bash", "-c", text], env={"PATH": os.environ["PATH"], **environment}, capture_output=True, check=True
    )
    return ran.stdout.decode()


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("printf %s [secret:A]", "{}"),
        ("printf '%s|' x[secret:A]y [secret:A]", "x{}y|{}|"),
        ('printf %s "a [secret:A] b"', "a {} b"),
        ("printf %s 'a [secret:A] b'", "a {} b"),
        ("printf %s $'a\\t[secret:A] b'", "a\t{} b"),
        ('T=[secret:A]; printf %s "$T"', "{}"),
        ("printf %s \"$(printf %s '[secret:A]')\"", "{}"),
        ('printf %s "$(printf %s "[secret:A]")"', "{}"),
        ("printf %s \"`printf %s '[secret:A]'`\"", "{}"),
        ('printf %s "`printf %s \\"[secret:A]\\"`"', "{}"),
        ("printf %s ${X:-[secret:A]}", "{}"),
        ("printf %s ${X:-'[secret:A]'}", "{}"),
        ('printf %s "${X:-[secret:A]}"', "{}"),
        ("# it's a comment\nprintf %s '[secret:A]'", "{}"),
        ("(cat <<X; printf .)\na [secret:A] 'b'\nX", "a {} 'b'\n."),
        ("cat <<'X'\na [secret:A] $b\nX", "a {} $b\n"),
        ("cat <<'X' && printf %s '[secret:A]'\n[secret:A]\nX", "{}\n{}"),
        ('printf %s [secret:A] | tr -d x >/dev/null; printf %s "[secret:B]"', "another-value"),
    ],
)
def test_command_gets_the_value_as_one_word(command: str, expected: str, value: str) -> None:
    assert printed(command, value) == expected.replace("{}", value)


def test_value_is_not_part_of_the_command() -> None:
    text, environment = as_variables("curl -u 'me:[secret:A]' \"x[secret:A]\"", {A: "one-value-1"})
    assert "one-value-1" not in text
    assert environment == {"SECRET_1": "one-value-1"}


@pytest.mark.parametrize("command", ["echo [secret:OTHER]", "echo [secret:a]", "echo secret:A"])
def test_unknown_placeholders_are_unchanged(command: str) -> None:
    assert as_variables(command, {A: "one-value-1"}) == (command, {})


@pytest.mark.parametrize(
    "command", ["echo '[secret:A]", 'echo "[secret:A]', "echo $(echo [secret:A]", "cat <<X\n[secret:A]"]
)
def test_incomplete_command_never_reveals_a_value(command: str) -> None:
    assert "one-value-1" not in as_variables(command, {A: "one-value-1"})[0]
