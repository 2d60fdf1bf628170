"""Tests of the rendering of program output that draws on a terminal."""

import time

import pytest

from tools_app.shell.terminal import TerminalStream, render_terminal


@pytest.mark.parametrize(
    ("output", "shown"),
    [
        ("plain\ntext\tand more\n", "plain\ntext\tand more\n"),
        ("\x1b[1;31mred\x1b[0m and \x1b[38;5;12mblue\x1b[m", "red and blue"),
        ("10 %\r 50 %\r100 %\ndone", "100 %\ndone"),
        ("Downloading\rOK", "OKwnloading"),  # as in a real terminal
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
def test_line_is_rendered_as_in_a_terminal(output: str, shown: str) -> None:
    assert render_terminal(output) == shown


def test_redrawing_a_long_line_takes_linear_time() -> None:
    assert render_terminal("x\b" * 200_000 + "y") == "y"
    assert render_terminal("\r".join(f"{n:6}" for n in range(100_000))) == " 99999"


@pytest.mark.parametrize("erase", ["\x1b[1K", "\x1b[2K"])
def test_erasing_a_long_line_takes_linear_time(erase: str) -> None:
    began = time.process_time()
    assert render_terminal("x" * 50_000 + erase * 10_000 + "\ry") == "y"
    assert render_terminal("x" * 50_000 + f"{erase}y" * 10_000).strip() == "y"
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    ("chunks", "shown"),
    [
        (["first li", "ne\nsec", "ond"], "first line\nsecond"),
        (["Continue? [y/n] ", "y\n"], "Continue? [y/n] y\n"),
        (["\x1b[1;3", "1mred\x1b", "[0m and\x1b]0;ti", "tle\x07 more"], "red and more"),
        (["Windows\r", "\nlines\r\n"], "Windows\nlines\n"),
        (["10 %", "\r50 %", "\r100 %", "\ndone"], "10 %\n50 %\n100 %\ndone"),
        (["10 %\r20 %\r30 %", "\r40 %\n"], "30 %\n40 %\n"),
        (["Downloading", "\r\x1b[K", "OK\n"], "Downloading\nOK\n"),
        (["x" * 5_000, "\x1b[", "1mmore\n", "end"], "x" * 5_000 + "more\nend"),
        (["\r" + "." * 1_500, "\r" + "." * 1_500 + "!", "\r" + "." * 1_500 + "!?"], "." * 1_500 + "!?"),
    ],
)
def test_stream_has_no_codes_and_only_appends(chunks: list[str], shown: str) -> None:
    running = TerminalStream(every_s=0)
    assert "".join(map(running.feed, chunks)) == shown


def test_progress_bar_is_emitted_twice_a_second_and_at_its_end() -> None:
    now = 0.0
    running = TerminalStream(clock=lambda: now)
    said = ""
    for percent in range(101):
        said += running.feed(f"\r{percent:3} %")
        now += 0.01
    assert said.split("\n") == ["  0 %", "  1 %", " 51 %"]
    assert running.feed("\n") == "\n100 %\n"
