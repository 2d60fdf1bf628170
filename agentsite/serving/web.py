"""The server process, from its first check to its end; in the embedded mode with a worker inside."""

# Importing Daphne installs the reactor's event loop, so it comes before all other imports of Twisted.
import os  # isort: skip
from agentsite.optional_imports import WITH_TWISTED, without  # isort: skip

os.environ.setdefault("AUTOBAHN_USE_NVX", "0")  # without its C parser: pages send almost nothing
with without(*WITH_TWISTED):
    import daphne.server  # isort: skip

import gc
import logging
import socket
import threading
from collections.abc import Callable

import celery.worker.state
from celery import Celery
from celery.beat import EmbeddedService
from celery.app.trace import setup_worker_optimizations
from celery.signals import worker_ready
from celery.worker import WorkController
from daphne.endpoints import build_endpoint_description_strings
from django.conf import settings
from django.db import OperationalError, connections
from twisted.internet import reactor
from twisted.logger import STDLibLogObserver, globalLogPublisher

from agentsite.celery import app
from agentsite.configuration import ConfigurationError, apply_at_start, create_shipped_rules
from agentsite.environment import EMBEDDED, VAR_DIR
from agentsite import workshop
from agentsite.accounts import sign_in
from agentsite.addresses import is_loopback
from agentsite.serving import first_start
from agentsite.serving.hosts import hosts_sentence
from agentsite.serving.back_pressure import Server, WebSocket
from agentsite.serving.channel import HTTPFactory
from agentsite.serving.limits import ConnectionLimiter, raise_open_file_limit
from agentsite.serving.server_lock import AlreadyServing, ServerLock
from tasks_app.runtime import event_loop
from tasks_app.runtime import process
from tasks_app.workspace.folders import sandbox
from tools_app.sandbox import Local

logger = logging.getLogger(__name__)
Say = Callable[[str], object]
BACKLOG = 1024  # connections that wait to be accepted: a burst is not refused
BODY_CHUNK_BYTES = 64 * 1024  # bytes of a body that are passed on together
MESSAGE_BYTES = 4096  # bytes of a websocket's message; pages send none
WORKER_WAIT_SECONDS = 20.0  # seconds until tasks run, even if the test of the model is not done
TEST_WAIT_SECONDS = 4.0  # seconds that the start of the server waits for the test of the model
_DEMO = "No key was found in the environment, so a demo answers. Enter a key on the first page for a real model."


class CannotServe(Exception):
    """The server cannot start."""


def serve(host: str, port: int, say: Say) -> None:
    """Run the server until SIGINT or SIGTERM, then end the process.

    Raises: CannotServe with a sentence that says what to do.
    """
    if settings.DEBUG and not is_loopback(host):
        raise CannotServe(f"DEBUG shows the server's internals to everybody who can reach {host}. Unset it.")
    base = _local_url(host, port)
    lock = _take_lock(base) if EMBEDDED else None  # noqa: F841  held until the process ends
    _check_port(host, port)
    os.umask(0o077)  # the server's files are private
    _prepare_database()
    with first_start.preparation_lock():
        admin = first_start.ensure_admin()
        create_shipped_rules()
        for change in _configure():
            say(change)
        first_start.ensure_packages()
        first_start.ensure_model()
    test = ConnectionTest()
    event_loop.adopt(daphne.server.twisted_loop)
    globalLogPublisher.addObserver(STDLibLogObserver())  # Daphne drops Twisted's error messages
    if EMBEDDED:
        EmbeddedWorker(app, settings.CELERY_WORKER_CONCURRENCY, test).start()
    reactor.callWhenRunning(lambda: _greet(say, base, admin, test, hosts_sentence(host)))
    server = _create_server(host, port)
    gc.freeze()  # objects of the start stay: exclude them from garbage collection
    server.run()
    # Crash-only: running tasks are cut off and continue at the next start. Only their programs are ended.
    process.end()
    logging.shutdown()
    os._exit(0)


def _local_url(host: str, port: int) -> str:
    """Return the address at which this machine reaches the server."""
    local = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)  # noqa: S104  they are compared
    return f"http://{f'[{local}]' if ':' in local else local}:{port}"


def _prepare_database() -> None:
    try:
        first_start.migrate()
    except OperationalError as error:
        raise CannotServe(f"The database cannot be used: {error}".rstrip()) from error


def _configure() -> list[str]:
    try:
        return apply_at_start()
    except ConfigurationError as error:
        raise CannotServe(str(error)) from error


def _create_server(host: str, port: int) -> Server:
    from agentsite.asgi import application

    files = raise_open_file_limit()
    # Daphne creates its connection factories by these names: replace them by ours, which have limits.
    daphne.server.HTTPFactory = lambda server: ConnectionLimiter(HTTPFactory(server), files)
    daphne.server.WebSocketFactory.protocol = WebSocket
    (endpoint,) = build_endpoint_description_strings(host=host, port=port)
    return Server(
        application=application,
        endpoints=[f"{endpoint}:backlog={BACKLOG}"],
        request_buffer_size=BODY_CHUNK_BYTES,
        websocket_max_message_size=MESSAGE_BYTES,
        websocket_max_frame_size=MESSAGE_BYTES,
        signal_handlers=True,
        http_timeout=None,  # event streams stay open
        server_name="agentsite",
        verbosity=0,
    )


def _take_lock(base: str) -> ServerLock:
    try:
        return ServerLock(base)
    except AlreadyServing as error:
        raise CannotServe(f"A server already runs with the data in {VAR_DIR}: {error}. Stop it first.") from error
    except OSError as error:
        raise CannotServe(
            f"Cannot write to {VAR_DIR}: {error.strerror}. Make it writable, or set AGENTSITE_VAR."
        ) from error


def _check_port(host: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or error
            raise CannotServe(f"Cannot listen on {host}:{port}: {reason}. Choose another with PORT=…") from error


class ConnectionTest(threading.Thread):
    """A thread that tests the model of a key in the environment. The server waits a few seconds for the verdict."""

    def __init__(self) -> None:
        super().__init__(name="connection-test", daemon=True)
        self.verdict = ""
        self._done = threading.Event()
        self.start()
        self.wait(TEST_WAIT_SECONDS)

    def wait(self, seconds: float) -> None:
        """Wait for the verdict, at most `seconds`."""
        self._done.wait(seconds)

    def run(self) -> None:
        try:
            self.verdict = first_start.connect_model()
        finally:
            connections.close_all()
            self._done.set()

    @property
    def is_pending(self) -> bool:
        return not self._done.is_set()

    def tell(self, say: Say) -> None:
        """Report the verdict when the test is done."""
        self.join()
        if self.verdict:
            say(_verdict_line(self.verdict))


def _greet(say: Say, base: str, admin: first_start.Admin, test: ConnectionTest, hosts: str) -> None:
    is_pending = test.is_pending
    say(_greeting(base, admin, "" if is_pending else test.verdict, hosts))
    if is_pending:
        threading.Thread(target=test.tell, args=(say,), name="verdict", daemon=True).start()
    if EMBEDDED:  # in a team, the workers run commands
        workshop.install_missing(lambda sentence: say(f"  Workshop  {sentence}"))


def _verdict_line(sentence: str) -> str:
    return f"  Test      {sentence}"


def _greeting(base: str, admin: first_start.Admin, verdict: str, hosts: str) -> str:
    """Return the greeting: address, login, one-click link, model with the verdict of its test, and sandbox."""
    backend, model = sandbox(), first_start.answering_model()
    packages = "" if backend.name == Local.name else first_start.packages_sentence()
    lines = [
        "",
        f"  Ready at  {base}/",
        *([f"  Hosts     {hosts}"] if hosts else []),
        f"  Sign in   {sign_in.link(settings.AGENTSITE_URL or base, admin.user)}",
        f"  Login     {admin.user.username}" + (f" / {admin.password}   (shown only now)" if admin.password else ""),
        f"  Model     {model}",
        *(_verdict_line(sentence) for sentence in [verdict or first_start.model_error()] if sentence),
        f"  Sandbox   {backend.name}" + (f": {backend.weakness}" if backend.weakness else ""),
        *([f"  Packages  {packages}"] if packages else []),
    ]
    if model.endswith("/demo"):
        lines += ["", f"  {_DEMO}"]
    return "\n".join([*lines, "", "  Ctrl-C stops the server; running tasks go on at the next start.", ""])


class EmbeddedWorker(threading.Thread):
    """A thread with a Celery worker that runs tasks in threads.

    It installs no signal handlers: those belong to the web server in the main thread.
    """

    def __init__(self, app: Celery, concurrency: int, test: ConnectionTest) -> None:
        super().__init__(name="celery-worker", daemon=True)
        self._app, self._concurrency, self._test = app, concurrency, test
        self.ready = threading.Event()

    def run(self) -> None:
        self._test.wait(WORKER_WAIT_SECONDS)  # until then the model of a new key is a guess
        setup_worker_optimizations(self._app, "embedded")
        worker = WorkController(
            app=self._app,
            hostname="embedded",
            pool_cls="threads",
            concurrency=self._concurrency,
            without_gossip=True,
            without_mingle=True,
            without_heartbeat=True,
            ready_callback=self._on_ready,
        )
        worker.start()

    def stop(self) -> None:
        """Take no new tasks. Running ones are cut off with the process and continue at the next start."""
        celery.worker.state.should_stop = 0

    def _on_ready(self, consumer: object) -> None:
        worker_ready.send(sender=consumer)
        EmbeddedService(self._app, thread=True, scheduler_cls=self._app.conf.beat_scheduler).start()  # beat
        self.ready.set()
