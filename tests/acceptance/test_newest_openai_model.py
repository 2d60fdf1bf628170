"""A key of OpenAI's is all that it takes, although its newest models refuse what all others understand."""

from collections.abc import Callable

from tests import strict_provider
from tests.acceptance.test_main_job import start
from tests.provider import openai_result, running
from tests.server import Server


def test_a_task_ends_well_and_no_request_is_refused(new_server: Callable[..., Server]) -> None:
    with running() as openai:
        openai.replies = [strict_provider.like_gpt_5(lambda received: openai_result("Hello from GPT-5."))]
        server = new_server(OPENAI_API_KEY="sk-a-key", OPENAI_BASE_URL=openai.base_url).start()
        _, task = start(server, "Hello.", model="default")
        assert server.until_task(task, state="done")["final_result"]["text"] == "Hello from GPT-5."
        calls = server.call("GET", f"tasks/{task}/llm-calls/")["results"]
    assert [call["status"] for call in calls] == ["succeeded"]
    assert {received.headers["Authorization"] for received in openai.received} == {"Bearer sk-a-key"}
