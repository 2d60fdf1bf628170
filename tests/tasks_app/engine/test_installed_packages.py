"""Packages that a task installs: from an index that an administrator allows, for later commands of the session."""

import io
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from llm_app.models import Blob, LLMLog
from tests.tasks_app.engine.conftest import call, result
from tools_app.models import AllowedAddress, ToolSetting

WHEEL = "greeter-1.0-py3-none-any.whl"


def wheel() -> bytes:
    """Return a package with a module and a command."""
    about = "greeter-1.0.dist-info"
    with zipfile.ZipFile(content := io.BytesIO(), "w") as archive:
        archive.writestr("greeter.py", "def main():\n    print('hello from a package')\n")
        archive.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: greeter\nVersion: 1.0\n")
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{about}/entry_points.txt", "[console_scripts]\ngreet = greeter:main\n")
        archive.writestr(f"{about}/RECORD", "")
    return content.getvalue()


class Index(BaseHTTPRequestHandler):
    """An index of one package."""

    def do_GET(self) -> None:
        is_page = self.path.endswith("/")
        body = f'<a href="/{WHEEL}">{WHEEL}</a>'.encode() if is_page else wheel()
        self.send_response(200)
        self.send_header("Content-Type", "text/html" if is_page else "application/octet-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None: ...


@pytest.fixture
def index() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Index) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


def install(index: str) -> str:
    """Return the command that installs through the proxy, which the name of a real index would do by itself."""
    url = f"http://{index}/simple/"
    options = f"--index-url {url} --trusted-host 127.0.0.1"
    return f"unset NO_PROXY no_proxy; python3 -m pip install {options} greeter"


def test_a_package_of_an_allowed_host_stays_for_later_commands(play, index):
    ToolSetting.objects.create(name="shell", hosts=["127.0.0.1"])
    AllowedAddress.objects.create(address=index)
    use = "python3 -c 'import greeter; greeter.main()' && greet"
    run = play(call("shell", command=install(index)), call("shell", command=use), result())
    run.advance()
    (_, installed), (_, used), *_ = run.results()
    assert "Successfully installed greeter-1.0" in installed
    assert used.startswith("hello from a package\nhello from a package\n")


def test_without_hosts_nothing_is_reached_and_the_prompt_says_so(play, index):
    run = play(call("shell", command=install(index)), result())
    run.advance()
    assert "No matching distribution found" in run.results()[0][1]
    prompt = Blob.objects.get(pk=LLMLog.objects.filter(task_id=run.task.id).first().system_blob).content
    assert "No network: pip, curl and npm reach nothing." in prompt


def test_the_prompt_names_the_hosts_of_packages(play):
    ToolSetting.objects.allow_packages()
    run = play(result())
    run.advance()
    prompt = Blob.objects.get(pk=LLMLog.objects.get(task_id=run.task.id).system_blob).content
    assert "only these hosts, over HTTP(S): files.pythonhosted.org, pypi.org, registry.npmjs.org." in prompt
    assert "No network" not in prompt
