"""Many concurrent callers against one limit. As a program: two hundred, on the migrated database of `DATABASE_URL`."""

import json
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
CALLERS = 200
LIMIT = 6_020  # tokens: not a multiple of the usage of one call


def result(callers: int) -> dict[str, int]:
    """Return the spent tokens, the largest call, the number of calls, and the remaining reservations.

    Each caller makes calls until one is rejected.
    """
    from django.contrib.auth import get_user_model
    from django.db.models import F, Max, Sum

    from llm_app.models import Budget, LLMLog, Reservation, Spending
    from tests import factories

    user = get_user_model().objects.create(username="storm")
    Budget.objects.create(user=user, tokens_per_day=LIMIT)
    route = factories.RouteFactory(max_tokens=100)
    refused = _call_at_once(route.model, user, callers)
    tokens = F("input_tokens") + F("output_tokens")
    logged = LLMLog.objects.aggregate(spent=Sum(tokens), largest=Max(tokens))
    assert logged["spent"] == Spending.objects.get().tokens
    return {**logged, "refused": refused, "reserved": Reservation.objects.count()}


def _call_at_once(model: Any, user: Any, count: int) -> int:
    from django.db import connection

    from llm_app.errors import BudgetExceeded
    from tasks_app.runtime import event_loop
    from tests.llm_app.conftest import Impatient, complete

    class Patient(Impatient):
        def __call__(self, work: Coroutine[Any, Any, T], /) -> T:
            connection.close_if_unusable_or_obsolete()  # as the engine does
            return event_loop.submit(work).result()

    def call_until_refused() -> None:
        together.wait(60)
        try:
            while True:
                complete(model, run=patient, user_id=user.pk)
        except BudgetExceeded as error:
            refused.append(str(error))
        finally:
            connection.close()

    patient = Patient(lambda wait: connection.close_if_unusable_or_obsolete())
    together, refused = threading.Barrier(count), []  # type: ignore[var-annotated]
    threads = [threading.Thread(target=call_until_refused) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(refused)


if __name__ == "__main__":
    import django
    from django.conf import settings

    django.setup()
    settings.DATABASES["default"]["OPTIONS"]["pool"]["timeout"] = (
        300  # seconds, enough for two hundred callers on a busy machine
    )
    print(json.dumps(result(CALLERS)))
