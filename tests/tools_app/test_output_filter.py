"""Tests that the server continues while the output filter searches, however hostile its pattern is."""

import threading
import time

from tools_app.hooks.base import CallOutcome
from tools_app.hooks.builtin import OutputFilter


def test_pattern_search_does_not_block_other_threads():
    answers = []
    outcome = CallOutcome(status="succeeded", content="a" * 200_000)
    search = threading.Thread(
        target=lambda: answers.append(OutputFilter(["(a+)+b"]).after_execution(None, outcome, None))
    )
    search.start()
    longest = 0.0
    while search.is_alive():
        began = time.perf_counter()
        time.sleep(0.001)
        longest = max(longest, time.perf_counter() - began)
    assert "pattern 1" in answers[0].reason
    assert longest < 1.0  # a search that held the interpreter's lock would block all threads for its 2 s
