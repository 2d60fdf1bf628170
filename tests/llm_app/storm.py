"""Many concurrent calls against a dead provider.

As a program: a hundred, on the migrated database of `DATABASE_URL`.
"""

import json
import threading
from typing import Any


def rounds(calls: int) -> list[tuple[int, int]]:
    """Return the requests to the dead and the living provider for each round of calls.

    The breaker is open: first within the cooldown, then after it, and both again. At the end the dead provider
    recovers.
    """
    from llm_app.models import CircuitBreaker
    from tests.llm_app.conftest import cooldown_is_over, routed
    from tests.provider import Reply, openai_text, running

    with running() as dead, running() as alive:
        dead.replies, alive.replies = [Reply(stall_at=0, stall_s=0.3)], [openai_text("fine")]
        model = routed([dead, alive])
        found = []
        _call_at_once(model, 2)
        for is_over in (False, True, False, True):
            if is_over:
                cooldown_is_over()
            dead.received.clear()
            alive.received.clear()
            _call_at_once(model, calls)
            found.append((len(dead.received), len(alive.received)))
        dead.replies = alive.replies
        cooldown_is_over()
        _call_at_once(model, calls)
        assert CircuitBreaker.objects.get().state == "closed"
        return found


def _call_at_once(model: Any, count: int) -> None:
    from django.db import connection

    from tests.llm_app.conftest import Impatient, complete

    returning = Impatient(lambda wait: connection.close())  # as the engine does: a thread that waits keeps none

    def call() -> None:
        together.wait(30)
        try:
            words.append(complete(model, run=returning))
        finally:
            connection.close()

    together, words = threading.Barrier(count), []  # type: ignore[var-annotated]
    threads = [threading.Thread(target=call) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert words == ["fine"] * count


if __name__ == "__main__":
    import django

    django.setup()
    print(json.dumps(rounds(100)))
