"""The example of the documentation, which must be a valid configuration."""

import pytest

from agentsite.configuration import apply, load
from llm_app.models import LogicalModel, Provider, Route
from tests import strict_provider
from tests.llm_app.conftest import complete
from tests.provider import openai_text, running
from tests.server import ROOT

NAMES = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "ADA_PASSWORD", "ADA_TOKEN", "AUDIT_KEY")


@pytest.fixture
def file(db):
    environment = {name: f"a-long-value-of-{name}" for name in NAMES}
    return load(ROOT / "docs" / "agentsite.example.yml", environment)


def test_example_changes_nothing_the_second_time(file):
    assert apply(file)
    assert LogicalModel.objects.get(is_default=True).name == "default"
    assert Route.objects.get(provider_model="gpt-5.2").quirks == {"strict_tools": True}
    assert apply(file) == []


def test_first_model_of_the_example_gets_valid_openai_requests(file):
    apply(file)
    with running() as openai:
        openai.replies = [strict_provider.like_gpt_5(lambda received: openai_text("Hello."))]
        Provider.objects.filter(name="main").update(base_url=openai.base_url)
        assert complete(LogicalModel.objects.get(is_default=True)) == "Hello."
