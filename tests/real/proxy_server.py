"""LiteLLM's proxy in front of the real model: OpenAI's and Anthropic's protocol in somebody else's implementation."""

import os
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError

from tests.server import free_port

KEY = "sk-only-for-these-tests-0123456789"
STARTING_SECONDS = 180
CONFIG = """
model_list:
  - model_name: smollm2
    litellm_params: {{model: openai/smollm2, api_base: "{model_url}", api_key: none}}
litellm_settings:
  use_chat_completions_url_for_anthropic_messages: true
"""


@contextmanager
def running(program: Path, model_url: str, folder: Path) -> Iterator[str]:
    """Yield the proxy's address once it answers."""
    config = folder / "proxy.yml"
    config.write_text(CONFIG.format(model_url=model_url))
    port = free_port()
    command = [str(program), "--config", str(config), "--host", "127.0.0.1", "--port", str(port)]
    environment = {**os.environ, "LITELLM_MASTER_KEY": KEY, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    with (
        (folder / "proxy.log").open("w") as log,
        subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT) as process,
    ):
        try:
            _wait(f"http://127.0.0.1:{port}/health/liveliness", process)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def _wait(address: str, process: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + STARTING_SECONDS
    while time.monotonic() < end:
        assert process.poll() is None, "the proxy ended: look at proxy.log"
        try:
            urllib.request.urlopen(address, timeout=5).close()  # noqa: S310  our own address
            return
        except (URLError, ConnectionError, TimeoutError):
            time.sleep(0.2)
    raise AssertionError("the proxy did not start in time")
