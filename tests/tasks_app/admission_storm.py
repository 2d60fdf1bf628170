"""Several people's tasks are admitted and end concurrently. Prints the highest number of running tasks as JSON.

Runs as a separate process on the database of DATABASE_URL: on PostgreSQL, transactions run in parallel.
"""

import json
from concurrent.futures import ThreadPoolExecutor
from threading import Thread

import django

PEOPLE, TASKS, RUNNING, PER_USER = 3, 12, 6, 3


def main() -> None:
    django.setup()
    from django.conf import settings
    from django.db import connection
    from django.db.models import Count
    from django.utils import timezone

    from tasks_app.models import Task
    from tasks_app.runtime import admission, lease
    from tests import factories

    settings.MAX_RUNNING, settings.MAX_RUNNING_PER_USER = RUNNING, PER_USER
    admission.enqueue = lambda task_id: None
    people = [factories.UserFactory() for _ in range(PEOPLE)]
    tasks = [factories.TaskFactory(session__owner=person) for _ in range(TASKS) for person in people]
    seen: list[list[int]] = []
    is_over = False

    def watch() -> None:
        while not is_over:
            counts = Task.objects.running().order_by().values_list("started_by").annotate(Count("pk"))
            seen.append([count for _, count in counts])
        connection.close()

    def work(task: Task) -> int:
        """Try until the task is admitted, as a repeatedly notified worker does; then end it."""
        claimed = None
        while claimed is None:
            claimed = lease.claim(task.pk)
        ended = {"state": "failed", "failure_code": "internal", "ended_at": timezone.now()}
        Task.objects.filter(pk=task.pk).update(**ended)
        connection.close()
        return 1

    watching = Thread(target=watch)
    watching.start()
    with ThreadPoolExecutor(12) as pool:
        ran = sum(pool.map(work, tasks))
    is_over = True
    watching.join()
    print(json.dumps({"ran": ran, "most": max(map(sum, seen)), "most of one": max(max(s, default=0) for s in seen)}))


if __name__ == "__main__":
    main()
