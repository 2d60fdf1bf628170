"""Renewals of leases during reservations and settlements of the same budget never deadlock."""

import time
from decimal import Decimal
from threading import Event, Thread
from uuid import uuid4

import pytest
from django.db import OperationalError, connection, transaction

from llm_app.budgets import Allowance, CallSize, counters
from llm_app.models import Budget, LLMLog, Reservation

pytestmark = pytest.mark.django_db(transaction=True)
SMALL = CallSize(request_bytes=300, max_tokens=100, price={})
LARGE = CallSize(request_bytes=3000, max_tokens=1000, price={})


def test_a_renewal_between_a_settlement_and_a_larger_reservation(monkeypatch):
    Budget.objects.create(tokens_per_day=1_000_000)
    settling, growing = Allowance(None, uuid4()), Allowance(None, uuid4())
    assert settling.reserve(SMALL) is None
    assert growing.reserve(SMALL) is None
    failed, charged, go_on = [], Event(), Event()
    charge = counters.charge

    def slow_charge(*arguments):
        charge(*arguments)
        charged.set()
        go_on.wait(10)

    monkeypatch.setattr(counters, "charge", slow_charge)

    def settle():
        with transaction.atomic():
            settling.settle(LLMLog(input_tokens=1, output_tokens=1, cost_usd=Decimal(0)))

    def work(what):
        def run():
            try:
                what()
            except OperationalError as error:
                failed.append(f"{what}: {error}")
            finally:
                connection.close()

        thread = Thread(target=run)
        thread.start()
        return thread

    threads = [work(settle)]
    charged.wait(10)  # it holds the counter
    threads.append(work(lambda: growing.reserve(LARGE)))  # releases its reservation, and waits for the counter
    time.sleep(0.3)
    threads.append(work(lambda: Reservation.objects.renew([settling._task_id, growing._task_id])))
    time.sleep(0.3)
    go_on.set()
    for thread in threads:
        thread.join(20)
    assert failed == []
