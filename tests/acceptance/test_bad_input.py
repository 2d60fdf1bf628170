"""Bad input gets a clear error and loses nothing."""

import socket
import subprocess
import sys
import urllib.error

import pytest

from tests.server import ROOT, Server, configured


def refused(server: Server, seconds: float = 60) -> str:
    """Return the message of a `serve` that fails to start, with an error status and without a traceback."""
    server.var.parent.mkdir(parents=True, exist_ok=True)
    ended = subprocess.run(
        [sys.executable, "manage.py", "serve", "--port", str(server.port)],
        cwd=ROOT,
        env=server.environment,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert ended.returncode != 0
    assert "Traceback" not in ended.stderr
    return ended.stdout + ended.stderr


def test_second_server_on_one_folder_names_the_first(server):
    second = Server(server.var, **server.environment)
    assert server.base_url in refused(second)
    server.call("GET", "sessions/")


def test_port_in_use_stops_the_start(new_server):
    server = new_server()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", server.port))
        taken.listen()
        assert "PORT=" in refused(server)


def test_read_only_folder_stops_the_start(new_server, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    server = new_server()
    server.environment["AGENTSITE_VAR"] = str(tmp_path / "file" / "var")
    assert "Cannot write to" in refused(server)


def test_invalid_configuration_stops_the_start_with_its_line(tmp_path):
    path = tmp_path / "bad.yml"
    path.write_text("tools: []\nproviders: [{name: a, protocol: telepathy}]\n")
    assert f"{path}:2" in refused(configured(tmp_path, "", AGENTSITE_CONFIG=str(path)))


def test_missing_configuration_file_stops_the_start(tmp_path):
    assert "nowhere.yml" in refused(configured(tmp_path, "", AGENTSITE_CONFIG=str(tmp_path / "nowhere.yml")))


@pytest.mark.parametrize(
    ("content", "status"), [("", 422), ("  \n", 422), ("x" * (10 * 1024 * 1024), 413)], ids=["empty", "blank", "10 MB"]
)
def test_empty_or_too_long_message_is_rejected_and_leaves_nothing(server, content, status):
    session = server.call("POST", "sessions/", {})["id"]
    with pytest.raises(urllib.error.HTTPError) as error:
        server.call("POST", f"sessions/{session}/messages/", {"content": content})
    assert error.value.code == status
    assert error.value.headers["Content-Type"].startswith("application/problem+json")
    assert server.entries(session) == []


def test_missing_provider_fails_the_task_with_a_sentence(server):
    session = server.call("POST", "sessions/", {"model": "gone"})["id"]
    task = server.call("POST", f"sessions/{session}/messages/", {"content": "Hello?"})["task"]
    failed = server.until_task(task, state="failed")
    assert failed["failure"]["code"] == "provider_unavailable"
    assert "Try again later" in failed["failure"]["detail"]
