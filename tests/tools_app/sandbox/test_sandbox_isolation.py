"""An attack suite: resources that a command under bubblewrap must not reach, with any server user."""

import socket
import subprocess

import pytest

from tests.tools_app.sandbox.conftest import SECRET, Server


def test_command_runs_in_the_workspace_without_privileges(server: Server) -> None:
    outcome = server.run(
        "pwd; id -u; whoami; echo made > file; grep -E 'Cap(Eff|Prm|Bnd)|NoNewPrivs' /proc/self/status"
    )
    lines = outcome["output"].split()
    assert lines[:3] == ["/workspace", str(server.workspace.stat().st_uid), "agent"]
    assert lines[1] != "0"
    assert lines[3:] == ["CapPrm:", "0" * 16, "CapEff:", "0" * 16, "CapBnd:", "0" * 16, "NoNewPrivs:", "1"]
    assert (server.workspace / "file").read_text() == "made\n"


def test_server_environment_is_out_of_reach(server: Server) -> None:
    outcome = server.run("env; cat /proc/*/environ /proc/*/cmdline")
    assert "PATH=" in outcome["output"]
    assert SECRET not in outcome["output"]


def test_other_processes_are_invisible(server: Server) -> None:
    assert int(server.run("ls /proc | grep -c '^[0-9]'")["output"]) < 10


def test_files_outside_the_workspace_are_out_of_reach(server: Server) -> None:
    secret = server.secret_file
    outcome = server.run(
        f"cat {secret} ../secret.txt ../../secret.txt /proc/1/root{secret} /etc/shadow; ls / /root /home"
    )
    assert SECRET not in outcome["output"]
    assert outcome["output"].count("No such file or directory") >= 5
    assert not server.run(f"find / -xdev -name {secret.name} 2>/dev/null")["output"]


def test_nothing_outside_the_workspace_is_writable(server: Server) -> None:
    places = [
        "/x",
        "/usr/x",
        "/etc/x",
        "/dev/x",
        "/proc/sys/kernel/hostname",
        "/bin/x",
        "/etc/passwd",
        "/proc/sysrq-trigger",
    ]
    outcome = server.run("; ".join(f"(echo x > {place}) 2>/dev/null && echo wrote {place}" for place in places))
    assert not outcome["output"]


def test_symlink_does_not_lead_out_of_the_workspace(server: Server) -> None:
    outside = server.folder / "outside"
    outside.mkdir()
    outside.chmod(0o777)
    (server.workspace / "link").symlink_to(outside)
    outcome = server.run("echo x > link/file; ls link/")
    assert outcome["exit_code"] != 0
    assert not list(outside.iterdir())


def test_loopback_services_are_unreachable(server: Server) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        connect = f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected"
        assert "connected" in subprocess.run(["bash", "-c", connect], capture_output=True, text=True, check=True).stdout
        listener.accept()[0].close()
        outcome = server.run(f"{connect}; cat /proc/net/tcp | wc -l")
    assert "connected" not in outcome["output"]


def test_abstract_unix_sockets_are_unreachable(server: Server) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("")  # the kernel assigns an abstract name
        listener.listen()
        name = listener.getsockname()
        server.write("connect.py", f"import socket; socket.socket(socket.AF_UNIX).connect({name!r})")
        outcome = server.run("python3 connect.py")
    assert "ConnectionRefusedError" in outcome["output"]


def test_signals_reach_no_outside_process(server: Server) -> None:
    with subprocess.Popen(["sleep", "60"]) as bystander:
        outcome = server.run(f"kill -9 {bystander.pid} $PPID -1; echo alive")
        assert bystander.poll() is None
        bystander.kill()
    assert "exit_code" in outcome  # the server is alive and has answered


def test_command_cannot_create_namespaces(server: Server) -> None:
    outcome = server.run("unshare --user true && echo nested; unshare --mount true && echo nested")
    assert "nested" not in outcome["output"]
    assert outcome["exit_code"] != 0


def test_environment_values_are_not_in_the_process_list(server: Server) -> None:
    with server.start("touch started; sleep 20; true", environment={"TOKEN": "sesame-8402"}) as process:
        server.until_exists("started")
        listing = subprocess.run(["ps", "axww"], capture_output=True, text=True, check=True).stdout
        process.kill()
    assert "touch started" in listing
    assert "sesame-8402" not in listing


def test_variable_reaches_the_command(server: Server) -> None:
    assert server.run("echo $TOKEN", environment={"TOKEN": "a\nb 'c'"})["output"] == "a b 'c'\n"


@pytest.mark.parametrize("name", ["LD_PRELOAD", "LD_LIBRARY_PATH", "A\0--bind", "A=B", ""])
def test_variables_that_could_affect_the_setup_are_refused(server: Server, name: str) -> None:
    assert "environment variable" in server.run("true", environment={name: "/workspace/x"})["refused"]
