"""Budgets, their spending, and the reservations of running calls."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import DateTimeField, ExpressionWrapper, Q
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Coalesce, Now

from llm_app.sql import cached_sql, fetch_all


def _usd(**options: Any) -> "models.DecimalField[Any, Any]":
    options |= {"max_digits": 14, "decimal_places": 4, "validators": [MinValueValidator(0)]}
    return models.DecimalField(null=True, blank=True, **options)


def _tokens() -> "models.PositiveBigIntegerField[Any, Any]":
    return models.PositiveBigIntegerField(null=True, blank=True)


class BudgetQuerySet(models.QuerySet["Budget"]):
    def binding(self, user_id: int | None) -> "BudgetQuerySet":
        """Return the budgets that apply to a user's calls: the user's own, those of their roles, and the one for
        everyone.
        """
        owners = Q(user=None, role=None)
        if user_id is not None:
            owners |= Q(user=user_id) | Q(role__in=get_user_model().roles_of(user_id))
        return self.filter(owners).select_related("user", "role").order_by("pk")

    @cached_sql
    def list_binding(self, user_id: int | None) -> "list[Budget]":
        return fetch_all(self.binding(user_id))

    def in_usd(self) -> "BudgetQuerySet":
        """Return the budgets with a limit in US dollars."""
        return self.exclude(usd_per_task=None, usd_per_day=None, usd_per_month=None)


class Budget(models.Model):
    """The limits of a user, of a role's members together, or (without either) of everyone together.

    Empty fields are no limits. Days and months are in UTC; a limit per task applies to each task.
    """

    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, null=True, blank=True, related_name="budget")
    role = models.OneToOneField(Group, models.CASCADE, null=True, blank=True, related_name="budget")
    usd_per_task = _usd(verbose_name="USD per task")
    usd_per_day = _usd(verbose_name="USD per day")
    usd_per_month = _usd(verbose_name="USD per month")
    tokens_per_task = _tokens()
    tokens_per_day = _tokens()
    tokens_per_month = _tokens()

    objects = BudgetQuerySet.as_manager()

    class Meta:
        db_table = "budgets"
        constraints = [
            models.CheckConstraint(condition=Q(user=None) | Q(role=None), name="budget_of_a_user_or_of_a_role"),
            models.UniqueConstraint(Coalesce("user", 0), condition=Q(user=None, role=None), name="one_budget_of_all"),
        ]

    def __str__(self) -> str:
        if self.user_id:
            return f"Budget of {self.user}"
        return f"Budget of the role {self.role}" if self.role_id else "Budget of this server"


class Spending(models.Model):
    """The amount spent in one period. Counters are separate from sessions, so deleting a session frees no budget.

    The key names the owner and the period: "user 5 2026-11-22", "role 3 2026-11", "all 2026-11", "task …".
    """

    key = models.CharField(max_length=60, primary_key=True)
    usd = models.DecimalField(max_digits=20, decimal_places=8, default=0)
    tokens = models.PositiveBigIntegerField(default=0)

    class Meta:
        db_table = "spending"
        verbose_name_plural = "spending"

    def __str__(self) -> str:
        return self.key


class ReservationQuerySet(models.QuerySet["Reservation"]):
    def alive(self) -> "ReservationQuerySet":
        """Return the reservations of valid leases, by the database's clock."""
        return self.filter(expires_at__gt=Now())

    def renew(self, task_ids: Iterable[UUID]) -> None:
        """Extend the reservations of tasks together with their leases."""
        self.filter(task_id__in=list(task_ids)).update(expires_at=lease_end())


class Reservation(models.Model):
    """The maximum cost of a running call, reserved in one counter. It expires with the lease of its task."""

    spending = models.ForeignKey(Spending, models.CASCADE, related_name="reservations")
    allowance = models.UUIDField(db_index=True, help_text="What reserved it: one id for each lease of a task.")
    task_id = models.UUIDField(null=True, blank=True, db_index=True)
    usd = models.DecimalField(max_digits=20, decimal_places=8, default=0)
    tokens = models.PositiveBigIntegerField(default=0)
    expires_at = models.DateTimeField()

    objects = ReservationQuerySet.as_manager()

    class Meta:
        db_table = "reservations"

    def __str__(self) -> str:
        return f"Reservation in {self.spending_id}"


def lease_end() -> "ExpressionWrapper[CombinedExpression]":
    """Return the end of a lease that is taken or renewed now."""
    return ExpressionWrapper(Now() + timedelta(seconds=settings.LEASE_SECONDS), output_field=DateTimeField())
