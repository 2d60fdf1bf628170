"""The example of the documentation is a configuration that works, and applying it twice changes nothing."""

import pytest

from agentsite.configuration.apply import apply
from agentsite.configuration.load import load
from llm_app.models import LogicalModel, Route
from tests.server import ROOT

NAMES = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "ADA_PASSWORD", "ADA_TOKEN")


@pytest.mark.django_db
def test_it_is_applied_once():
    environment = {name: f"a-long-value-of-{name}" for name in NAMES}
    file = load(ROOT / "docs" / "agentsite.example.yml", environment)
    assert apply(file)
    assert LogicalModel.objects.get(is_default=True).name == "default"
    assert Route.objects.get(provider_model="gpt-5.2").quirks == {"strict_tools": True}
    assert apply(file) == []
