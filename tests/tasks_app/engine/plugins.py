"""Hooks like those of a plugin."""

import asyncio
import threading
import time

from tools_app.hooks.base import Annotate, AskApproval, Hook, Refuse

RELEASED = threading.Event()


class NoSecretsFile(Hook):
    name = "keeper"

    def before_execution(self, call, around):
        if call.tool == "file" and "secret" in call.arguments.get("path", ""):
            return Refuse(reason="this file is nobody's business.", code="PRIVATE")
        return None


class Remarks(Hook):
    name = "remarks"

    async def before_execution(self, call, around):
        return (
            Annotate(note=f"{call.tool} is {call.danger}, {len(around.past())} before it")
            if call.tool == "file"
            else None
        )

    async def after_execution(self, call, outcome, around):
        return Annotate(note=f"it {outcome.status}") if call.tool == "file" else None


class Careful(Hook):
    name = "careful"

    def before_execution(self, call, around):
        return AskApproval(reason="writes are looked at") if call.arguments.get("action") == "write" else None


class Failing(Hook):
    name = "failing"

    def before_execution(self, call, around):
        if call.tool != "message":
            raise RuntimeError("a detail that nobody may see")


class FailingLater(Hook):
    name = "failing later"

    def after_execution(self, call, outcome, around):
        raise RuntimeError("a detail that nobody may see")

    async def before_completion(self, call, around):
        raise RuntimeError("a detail that nobody may see")


class FailingFilter(Hook):
    name = "failing filter"
    filters_output = True

    def after_execution(self, call, outcome, around):
        raise RuntimeError("a detail that nobody may see")


class Blocking(Hook):
    """A hook that blocks its thread, as no hook should."""

    name = "blocking"
    limit_s = 0.2

    def before_execution(self, call, around):
        if call.tool != "message":
            RELEASED.wait(30)


class Endless(Hook):
    """A hook whose coroutine does not end while a person waits."""

    name = "endless"
    limit_s = 60

    async def before_execution(self, call, around):
        if call.tool != "message":
            RELEASED.set()
            await asyncio.sleep(60)


class EndlessLater(Hook):
    """A hook whose check of the first result does not end while a person waits."""

    name = "endless later"
    limit_s = 60

    async def after_execution(self, call, outcome, around):
        if not RELEASED.is_set():
            RELEASED.set()
            await asyncio.sleep(60)


class Talkative(Hook):
    name = "talkative"

    def before_execution(self, call, around):
        return "yes" if call.tool != "message" else None


class LooksAtEnd(Hook):
    name = "slow look"
    limit_s = 0.2

    def after_execution(self, call, outcome, around):
        time.sleep(0.6)


NOT_A_HOOK = object()


class AsksBeforeTheEnd(Hook):
    name = "editor"

    def before_completion(self, call, around):
        return AskApproval(reason="an editor reads it first")
