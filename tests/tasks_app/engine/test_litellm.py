"""Providers behind litellm behave like any other: the same loop, the same record, the same errors."""

import hashlib
import json
import subprocess
import sys

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from llm_app import protocols
from llm_app.adapters.litellm import LiteLLM
from llm_app.call import retry
from llm_app.models import LLMLog, Provider
from tasks_app import services
from tasks_app.runtime import event_loop, stream_buffer
from tests import factories
from tests.provider import Reply, openai_call, openai_chunk, openai_result, openai_text, sse
from tests.strict_provider import strict
from tests.tasks_app.engine.conftest import Run
from tests.waiting import until

KEY = "sk-very-secret"


@pytest.fixture(scope="module", autouse=True)
def _loaded():
    """Load litellm first, as that takes seconds, which must not count for timeouts."""
    from llm_app.adapters import litellm

    litellm._litellm()


@pytest.fixture
def ask(owner, http_provider):
    """Start a task whose model is reached through litellm's provider `litellm_provider`."""

    def start(litellm_provider="hosted_vllm", base_url=http_provider.base_url, timeout_s=30, key=KEY, **route):
        row = factories.ProviderFactory(
            protocol="litellm",
            litellm_provider=litellm_provider,
            base_url=base_url,
            api_key=key,
            timeout_s=timeout_s,
        )
        model = factories.RouteFactory(provider=row, **{"provider_model": "fake-1"} | route).model
        session = factories.SessionFactory(owner=owner, model=model)
        return Run(services.post_message(session, owner, "Go.").task)

    return start


@pytest.fixture(autouse=True)
def _no_patience(monkeypatch):

    monkeypatch.setattr(retry, "_wait", lambda delay, jitter: retry.RetryDecision(retry.Action.RETRY, 0.0))


@pytest.mark.parametrize("name", ["hosted_vllm", "openai"])
def test_a_task_runs_through_litellm_with_tools_usage_and_its_key(ask, http_provider, name):
    http_provider.replies = [
        openai_call("file", {"action": "write", "path": "notes.txt", "content": "hello"}),
        openai_result("I wrote it."),
    ]
    run = ask(litellm_provider=name)
    task = run.advance()
    assert (task.failure_detail, task.final_result["text"]) == ("", "I wrote it.")
    assert task.usage == {"input_tokens": 200, "cached_tokens": 80, "output_tokens": 20, "thinking_tokens": 0}
    first, second = http_provider.received
    assert first.headers["authorization"] == f"Bearer {KEY}"
    assert first.body["model"] == "fake-1"
    assert [message["role"] for message in second.body["messages"]] == ["system", "user", "user", "assistant", "tool"]
    assert {tool["function"]["name"] for tool in first.body["tools"]} >= {"message", "file"}


def test_the_log_hashes_the_arguments_of_litellm(ask, http_provider):
    from llm_app.adapters.litellm import LiteLLM

    http_provider.replies = [openai_result()]
    bodies = []
    original = LiteLLM.events
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LiteLLM, "events", lambda self, body, *to: (bodies.append(body), original(self, body, *to))[1])
        ask(thinking_budget=2048).advance()
    log = LLMLog.objects.get()
    assert (log.adapter, log.parameters["model"]) == ("litellm", "hosted_vllm/fake-1")
    assert log.request_sha256 == hashlib.sha256(bodies[0]).hexdigest()
    assert KEY not in bodies[0].decode()
    assert json.loads(bodies[0])["model"] == "hosted_vllm/fake-1"


def test_the_text_of_a_message_streams_before_the_reply_is_whole(ask, http_provider, owner):
    long = openai_call("message", {"type": "result", "text": "The first half. The second half."}, pieces=8, stall_at=6)
    http_provider.replies = [long, openai_result()]
    run = ask(timeout_s=30)
    thread = run.in_thread()
    until(lambda: event_loop.submit(stream_buffer.store.chunks_of(run.task.pk)).result(10))
    services.post_message(run.task.session, owner, "Stop, please.")
    thread.join(30)
    partial = run.entries[2]
    assert partial.metadata["status"] == "interrupted"
    assert partial.content
    assert "The first half. The second half.".startswith(partial.content)


def test_a_stop_closes_the_socket_that_litellm_holds(ask, http_provider):
    http_provider.replies = [openai_result(stall_at=1)]
    run = ask(timeout_s=30)
    thread = run.in_thread()
    assert http_provider.stalling.wait(30)
    services.stop(run.task)
    thread.join(30)
    assert http_provider.hung_up.wait(30)
    run.task.refresh_from_db()
    assert (run.task.state, run.task.failure_code) == ("failed", "stopped")


@pytest.mark.parametrize(
    ("status", "body", "code", "calls"),
    [
        (400, "bad tools", "structural_error", 1),
        (400, "context_length_exceeded", "context_overflow", 1),
        (401, f"no such key: {KEY}", "authentication", 1),
        (403, "not yours", "authentication", 1),
        (429, "slowly", "provider_unavailable", 5),
        (500, "oops", "provider_unavailable", 3),
        (529, "too much", "provider_unavailable", 5),
    ],
)
def test_status_codes_mean_the_same_as_in_native_protocols(ask, http_provider, status, body, code, calls):
    reply = Reply(
        status=status, chunks=[json.dumps({"error": {"message": body}}).encode()], content_type="application/json"
    )
    http_provider.replies = [reply]
    task = ask().advance()
    assert (task.failure_code, len(http_provider.received)) == (code, calls)
    assert KEY not in LLMLog.objects.first().error + task.failure_detail


@pytest.mark.parametrize("name", ["hosted_vllm", "openai"])
def test_retry_after_is_respected(ask, http_provider, monkeypatch, name):

    delays = []
    monkeypatch.setattr(
        retry, "_wait", lambda delay, jitter: delays.append(delay) or retry.RetryDecision(retry.Action.RETRY, 0.0)
    )
    http_provider.replies = [Reply(status=429, headers={"Retry-After": "7"}, chunks=[b"{}"]), openai_result()]
    assert ask(litellm_provider=name).advance().state == "done"
    assert delays == [7.0]


def test_a_truncated_stream_is_retried(ask, http_provider):
    cut = openai_call("message", {"type": "result", "text": "Half of the ans"}, pieces=5, cut=True)
    http_provider.replies = [cut, openai_result("The whole answer.")]
    run = ask()
    assert run.advance().final_result["text"] == "The whole answer."
    assert run.entries[2].metadata["discarded"] is True


def test_an_error_inside_a_stream_is_recognized(ask, http_provider):
    http_provider.replies = [Reply(chunks=sse({"error": {"message": "overloaded", "code": 429}})), openai_result()]
    assert ask().advance().state == "done"
    assert "429" in LLMLog.objects.get(status="failed").error


def test_a_silent_provider_is_given_up_after_its_timeout(ask, http_provider):
    http_provider.replies = [openai_result(stall_at=1), openai_result()]
    assert ask(timeout_s=1).advance().state == "done"
    assert LLMLog.objects.filter(status="failed").exists()


def test_an_unreachable_address_is_one_sentence(ask, http_provider):
    http_provider.close()
    task = ask().advance()
    assert (task.failure_code, len(LLMLog.objects.all())) == ("provider_unavailable", 3)


def test_an_unknown_provider_of_litellm_is_a_refused_request(ask):
    assert ask(litellm_provider="nonsense").advance().failure_code == "structural_error"


def test_thinking_is_separate_from_the_text(ask, http_provider):
    thinking = sse(openai_chunk({"reasoning_content": "Hm, "}), openai_chunk({"reasoning_content": "so."}))
    http_provider.replies = [Reply(chunks=[*thinking, *openai_text("Just words.").chunks]), openai_result()]
    run = ask()
    run.advance()
    assert (run.entries[2].content, run.entries[2].thought) == ("Just words.", "Hm, so.")


def test_signed_thinking_goes_back_to_its_model_unchanged(ask, http_provider):
    http_provider.replies = [
        claude("file", {"action": "list", "path": "."}),
        claude("message", {"type": "result", "text": "ok"}),
    ]
    run = ask(
        litellm_provider="anthropic",
        base_url=http_provider.base_url.removesuffix("/v1"),
        provider_model="claude-opus-4-5",
        thinking_budget=1024,
    )
    assert run.advance().state == "done"
    assert http_provider.received[0].body["thinking"] == {"type": "enabled", "budget_tokens": 1024}
    assistant = http_provider.received[1].body["messages"][1]
    assert assistant["content"][:2] == [
        {"type": "thinking", "thinking": "Let me think", "signature": "SIG"},
        {"type": "redacted_thinking", "data": "XYZ"},
    ]
    assert run.entries[2].thought == "Let me think"


def test_gemini_gets_its_own_request_format(ask, http_provider):
    http_provider.replies = [gemini("from Gemini")]
    root = http_provider.base_url.removesuffix("/v1")
    task = ask("gemini", root, provider_model="gemini-3-pro-preview").advance()
    assert task.final_result["text"] == "from Gemini"
    assert task.usage["thinking_tokens"] == 3
    assert http_provider.received[0].path.startswith("/models/gemini-3-pro-preview:streamGenerateContent")


def test_a_broken_call_is_accepted_by_a_strict_server(ask, http_provider):
    http_provider.replies = [
        openai_call("file", '{"action": '),
        strict(lambda received: openai_result(), window=99_999),
    ]
    assert ask().advance().state == "done"
    assert not LLMLog.objects.exclude(status="succeeded").exists()


def test_gemini_answers_after_another_models_broken_call(ask, http_provider, owner):
    http_provider.replies = [openai_call("file", '{"action": '), openai_result()]
    run = ask()
    assert run.advance().state == "done"
    Provider.objects.update(litellm_provider="gemini", base_url=http_provider.base_url.removesuffix("/v1"))
    http_provider.replies = [gemini("from Gemini")]
    again = Run(services.post_message(run.task.session, owner, "Again.").task)
    assert again.advance().final_result["text"] == "from Gemini"


def test_a_service_account_takes_the_place_of_a_key(ask, http_provider):
    root = http_provider.base_url.removesuffix("/v1")
    account = {
        "type": "service_account",
        "project_id": "ours",
        "client_email": "a@b.example",
        "token_uri": f"{root}/token",
    }
    private = (
        rsa.generate_private_key(65537, 2048).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    )
    token = json.dumps({"access_token": "a-token", "expires_in": 3600, "token_type": "Bearer"}).encode()
    http_provider.replies = [Reply(chunks=[token], content_type="application/json"), gemini("from Vertex")]
    run = ask("vertex_ai", root, key=json.dumps(account | {"private_key": private}), provider_model="gemini-2.5-pro")
    assert run.advance().final_result["text"] == "from Vertex"
    assert "/projects/ours/" in http_provider.received[1].path
    assert http_provider.received[1].headers["authorization"] == "Bearer a-token"


def test_a_route_cannot_send_the_request_elsewhere_or_switch_on_search(ask, http_provider):
    http_provider.replies = [openai_result()]
    body = {
        "mock_response": "no",
        "api_base": "http://127.0.0.1:9",
        "web_search_options": {},
        "fallbacks": ["x"],
        "top_p": 0.5,
    }
    assert ask(extra_body=body).advance().state == "done"
    sent = http_provider.received[0].body
    assert sent["top_p"] == 0.5
    assert "web_search_options" not in sent


def test_litellm_is_loaded_on_demand():
    heavy = {"litellm", "lxml", "mcp", "numpy", "PIL", "playwright", "trafilatura"}
    program = (
        "import os, sys; os.environ['DJANGO_SETTINGS_MODULE'] = 'agentsite.settings';"
        f"import agentsite.asgi, llm_app.protocols, tasks_app.worker.jobs; print(sorted({heavy!r} & set(sys.modules)))"
    )
    ended = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert ended.stdout == "[]\n"


def gemini(text):
    """Return a reply in Google's protocol: one signed call."""
    call = {"name": "message", "args": {"type": "result", "text": text}}
    content = {"role": "model", "parts": [{"functionCall": call, "thoughtSignature": "QUJD"}]}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "thoughtsTokenCount": 3, "totalTokenCount": 18}
    return Reply(chunks=sse({"candidates": [{"content": content, "finishReason": "STOP"}], "usageMetadata": usage}))


def claude(name, arguments):
    """Return a reply in Anthropic's protocol: thinking with its signature, a redacted part, one call."""
    text = json.dumps(arguments)
    events = [
        {
            "type": "message_start",
            "message": {
                "id": "m",
                "type": "message",
                "role": "assistant",
                "model": "c",
                "content": [],
                "usage": {"input_tokens": 10, "output_tokens": 1},
            },
        },
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "thinking", "thinking": "", "signature": ""},
        },
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Let me"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": " think"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "SIG"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "redacted_thinking", "data": "XYZ"}},
        {"type": "content_block_stop", "index": 1},
        {
            "type": "content_block_start",
            "index": 2,
            "content_block": {"type": "tool_use", "id": f"toolu_{name}", "name": name, "input": {}},
        },
        {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": text[:9]}},
        {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": text[9:]}},
        {"type": "content_block_stop", "index": 2},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 20}},
        {"type": "message_stop"},
    ]
    return Reply(chunks=[f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in events])


def test_its_connections_are_closed_when_the_process_ends(ask, http_provider):
    import litellm

    http_provider.replies = [openai_result()]
    assert ask().advance().state == "done"
    handlers = litellm.in_memory_llm_clients_cache.cache_dict.values()
    clients = [
        handler.client for handler in handlers if isinstance(getattr(handler, "client", None), httpx.AsyncClient)
    ]
    assert any(not client.is_closed for client in clients)
    event_loop.submit(protocols.close()).result(30)
    assert all(client.is_closed for client in clients)
    litellm.in_memory_llm_clients_cache.flush_cache()


def test_a_worker_prepares_what_its_enabled_routes_need(db, monkeypatch):
    prepared = []
    monkeypatch.setattr(LiteLLM, "prepare", lambda self: prepared.append(self.name))
    route = factories.RouteFactory(provider=factories.ProviderFactory(protocol="litellm", litellm_provider="gemini"))
    protocols.prepare()
    Provider.objects.filter(pk=route.provider_id).update(enabled=False)
    protocols.prepare()
    factories.RouteFactory(provider=factories.ProviderFactory(protocol="openai_native"))
    protocols.prepare()
    assert prepared == ["litellm"]


def test_the_thinking_that_a_provider_demands_goes_back(ask, http_provider):
    words = "The `reasoning_content` in the thinking mode must be passed back to the API."

    def unless_it_thought(reply):
        def answer(received):
            calls = [message for message in received.body["messages"] if message.get("tool_calls")]
            if all(message.get("reasoning_content") for message in calls):
                return reply
            return Reply(status=400, chunks=[json.dumps({"error": {"message": words}}).encode()])

        return answer

    thought = sse(openai_chunk({"role": "assistant", "reasoning_content": "I write."}))
    call = openai_call("file", {"action": "write", "path": "notes.txt", "content": "hello"})
    call.chunks[:0] = thought
    answer = unless_it_thought(openai_result("I wrote it."))
    http_provider.replies = [call, answer, answer]
    task = ask(litellm_provider="deepseek", provider_model="deepseek-chat").advance()
    assert (task.failure_detail, task.state) == ("", "done")
    assert [len(http_provider.received), LLMLog.objects.filter(status="failed").count()] == [3, 1]
