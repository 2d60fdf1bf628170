"""Task, day and month: days and months are those of UTC."""

from datetime import datetime, timedelta
from enum import StrEnum


class Period(StrEnum):
    TASK = "task"
    DAY = "day"
    MONTH = "month"

    def name_at(self, now: datetime) -> str:
        """The day ("2026-11-22") or the month ("2026-11") of `now`, which is in UTC."""
        return {Period.TASK: "", Period.DAY: f"{now:%Y-%m-%d}", Period.MONTH: f"{now:%Y-%m}"}[self]

    def begin(self, now: datetime) -> datetime | None:
        """When the period of `now` began; a task's beginning is not ours to know."""
        if self is Period.TASK:
            return None
        day = now.replace(hour=0, minute=0, second=0, microsecond=0)
        return day if self is Period.DAY else day.replace(day=1)

    def end(self, now: datetime) -> datetime | None:
        """When the next one begins."""
        begin = self.begin(now)
        if begin is None:
            return None
        return begin + timedelta(days=1) if self is Period.DAY else (begin + timedelta(days=31)).replace(day=1)
