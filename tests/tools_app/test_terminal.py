"""What is left of a program's output where it draws on a terminal."""

import pytest

from tools_app.shell.terminal import shown_by_terminal


@pytest.mark.parametrize(
    ("output", "shown"),
    [
        ("plain\ntext\tand more\n", "plain\ntext\tand more\n"),
        ("\x1b[1;31mred\x1b[0m and \x1b[38;5;12mblue\x1b[m", "red and blue"),
        ("10 %\r 50 %\r100 %\ndone", "100 %\ndone"),
        ("Downloading\rOK", "OKwnloading"),  # a terminal shows just that
        ("Downloading\r\x1b[KOK", "OK"),
        ("Downloading\x1b[2K\rOK", "OK"),
        ("ends in a return\r", "ends in a return"),
        ("Windows\r\nlines\r\n", "Windows\nlines\n"),
        ("b\bbo\bol\bld", "bold"),
        ("\x1b]0;a title\x07text\x1b]8;;https://a.org\x1b\\link\x1b]8;;\x1b\\", "textlink"),
        ("\x1b(B\x1b[?25lhidden cursor\x1b[?25h\x07", "hidden cursor"),
        ("cut in \x1b[3", "cut in"),
        ("größe \x1b[32m日本語\x1b[0m\r\x1b[1mGröße", "Größe 日本語"),
        ("", ""),
    ],
)
def test_a_line_is_what_a_terminal_shows(output: str, shown: str) -> None:
    assert shown_by_terminal(output) == shown


def test_a_long_line_that_is_drawn_again_and_again_costs_no_more_than_its_length() -> None:
    assert shown_by_terminal("x\b" * 200_000 + "y") == "y"
    assert shown_by_terminal("\r".join(f"{n:6}" for n in range(100_000))) == " 99999"
