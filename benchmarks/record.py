"""A check that every request is in the record: thousands of calls under all conditions, then `replay --all --verify`.

    python -m benchmarks.record [CALLS]

The conditions are every protocol, failover, cut streams, compaction, interjections, questions, forks, a secret that
is saved late and deleted, and workers that are killed and restarted.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from io import BytesIO
from typing import Any

from benchmarks.token_server import running

WORKERS = 2
KILL_EVERY = 40.0  # seconds
MAX_SECONDS = 1300.0
MODELS = {  # logical model: protocol and model of each route
    "native": [("openai_native", "a"), ("anthropic_native", "b")],
    "claude": [("anthropic_native", "b"), ("openai_native", "a")],
    "xml": [("anthropic_xml", "c-xml"), ("json_schema", "d-json")],
    "json": [("json_schema", "d-json"), ("anthropic_xml", "c-xml")],
}


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # run the cleanup of the blocks below
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with (
        tempfile.TemporaryDirectory(prefix="agentsite-record-") as folder,
        running("benchmarks.every_protocol", "0") as base_url,
    ):
        os.environ |= {"AGENTSITE_VAR": folder, "DJANGO_SETTINGS_MODULE": "agentsite.settings"}
        os.environ.pop("DATABASE_URL", None)
        import django

        django.setup()
        _record(_set_up(base_url), calls)
        _verify()


def _set_up(base_url: str) -> Any:
    from agentsite.serving import first_start
    from llm_app.models import LogicalModel, Provider

    first_start.migrate()
    patient = {"min_calls": 1_000_000, "window": 1}
    for name, routes in MODELS.items():
        model = LogicalModel.objects.create(name=name, context_window=26_000, max_output_tokens=1_000)
        for priority, (protocol, target) in enumerate(routes, 1):
            provider, _ = Provider.objects.get_or_create(
                name=protocol, protocol=protocol, base_url=f"{base_url}/v1", breaker=patient
            )
            model.routes.create(provider=provider, provider_model=target, priority=priority, takes_images=priority == 1)
    return first_start.ensure_admin().user


def _record(owner: Any, calls: int) -> None:
    from llm_app.models import LLMLog

    chance, workers = random.Random(7), [_worker() for _ in range(WORKERS)]
    people, began, killed = _People(owner, chance), time.monotonic(), time.monotonic()
    try:
        while (made := LLMLog.objects.count()) < calls and time.monotonic() - began < MAX_SECONDS:
            people.act(made / calls)
            if time.monotonic() - killed > KILL_EVERY:
                killed = time.monotonic()
                victim = workers.pop(0)
                victim.kill()
                victim.wait()
                workers.append(_worker())
                print(f"{made:,} calls after {killed - began:.0f} s", flush=True)
            time.sleep(0.05)
        people.stop_all()
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    print(f"{made:,} calls recorded in {time.monotonic() - began:.0f} s. {people.done}", flush=True)


def _worker() -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-m", "benchmarks.record_worker"], stderr=subprocess.DEVNULL)


class _People:
    """Users who start tasks, write into them, answer, fork, and save and delete a secret."""

    def __init__(self, owner: Any, chance: random.Random) -> None:
        from llm_app.models import LogicalModel
        from tasks_app import services
        from tasks_app.workspace.folders import workspace_of

        self._owner, self._chance = owner, chance
        self.done = {"messages": 0, "interjections": 0, "answers": 0, "forks": 0}
        for model in LogicalModel.objects.filter(name__in=MODELS):
            for number in range(3):
                session = services.create_session(owner, title=f"{model} {number}", model=model)
                workspace_of(session).write_bytes("red.png", _png())

    def act(self, share: float) -> None:
        from tasks_app import services
        from tasks_app.models import Session
        from tasks_app.models.errors import Refusal

        self._keep_secret(is_saved=0.3 < share < 0.7)
        for session in Session.objects.order_by("?")[:4]:
            task = session.tasks.active().first()
            try:
                if task is None:
                    self._start(session)
                elif task.waiting_for == "reply":
                    services.reply(task, self._owner, "The first one.")
                    self.done["answers"] += 1
                elif self._chance.random() < 0.03:
                    services.post_message(session, self._owner, "Wait, one more thing.")
                    self.done["interjections"] += 1
            except Refusal:
                pass  # the task has advanced since

    def _start(self, session: Any) -> None:
        from tasks_app import services
        from tasks_app.services import forks

        if session.last_seq and self.done["forks"] < 25 and self._chance.random() < 0.15:
            session = forks.fork(session, self._chance.randint(1, session.last_seq), self._owner)
            self.done["forks"] += 1
        pictures = ["red.png"] if self._chance.random() < 0.2 else []
        services.post_message(session, self._owner, "Go on.", attachments=pictures, max_iterations=120)
        self.done["messages"] += 1

    def _keep_secret(self, *, is_saved: bool) -> None:
        from benchmarks.every_protocol import LATE_SECRET
        from llm_app.models import Secret

        if is_saved and not Secret.objects.exists():
            Secret.objects.create(owner=self._owner, name="LATE", value=LATE_SECRET)
        elif not is_saved:
            Secret.objects.all().delete()

    def stop_all(self) -> None:
        from tasks_app import services
        from tasks_app.models import Task

        for task in Task.objects.active():
            services.stop(task)
        end = time.monotonic() + 20
        while Task.objects.active().exists() and time.monotonic() < end:
            time.sleep(0.1)


def _png() -> bytes:
    from PIL import Image

    out = BytesIO()
    Image.new("RGB", (64, 48), "red").save(out, "PNG")
    return out.getvalue()


def _verify() -> None:
    from collections import Counter

    from django.core.management import call_command

    from llm_app.models import LLMLog
    from tasks_app.models import ContextCut, ContextEntry, Session, Task

    logs = LLMLog.objects.values_list("adapter", "status")
    print(dict(Counter(f"{adapter} {status}" for adapter, status in logs)))
    print(
        f"{Session.objects.count()} sessions, {ContextEntry.objects.count():,} entries, "
        f"{ContextCut.objects.count()} moves of the cut, "
        f"{LLMLog.objects.exclude(cut_seq=0).count():,} calls behind a cut, "
        f"{LLMLog.objects.exclude(masked_spans=[]).count():,} with placeholders, "
        f"{ContextEntry.objects.filter(metadata__status='unknown').count()} calls of unknown outcome, "
        f"{Task.objects.filter(crashes__gt=0).count()} tasks that a worker died under",
        flush=True,
    )
    began = time.monotonic()
    try:
        call_command("replay", "--all", "--verify")
    finally:
        print(f"verified in {time.monotonic() - began:.1f} s", flush=True)


if __name__ == "__main__":
    main()
