"""The cached prefix: each request begins with the bytes of its predecessor, in every protocol."""

import json

import pytest

from tasks_app import services
from tests import factories
from tests.tasks_app.engine.conftest import Run
from tests.tasks_app.engine.protocols import PROTOCOLS, says

LOOK = {"action": "read", "path": "a.txt"}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_request_begins_with_the_bytes_of_the_one_before(owner, http_provider, protocol):
    row = factories.ProviderFactory(protocol=protocol, base_url=http_provider.base_url, timeout_s=5)
    model = factories.RouteFactory(provider=row, provider_model="m").model
    session = factories.SessionFactory(owner=owner, model=model)
    looks = [says(protocol, "file", LOOK | {"offset": number}) for number in (1, 2, 3)]
    http_provider.replies = [*looks, says(protocol, "message", {"type": "result", "text": "Nothing."})]
    for words in ("Look.", "Once more."):
        Run(services.post_message(session, owner, words).task).advance()
    requests = [received.raw for received in http_provider.received]
    assert len(requests) == 5
    for request, following in zip(requests, requests[1:], strict=False):
        shared = request[: request.rindex(b'{"role":')]
        assert following.startswith(shared)
        assert len(json.loads(following)["messages"]) > len(json.loads(request)["messages"])
