"""`run_agent --output-schema`: matching data follows the text, and an invalid schema is a usage error."""

import json

import pytest
from django.core.management import CommandError, call_command

from tests import factories
from tests.tasks_app.engine.conftest import call, script

DATA = {"n": 3}
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@pytest.fixture
def run(transactional_db, tmp_path, capsys):
    factories.UserFactory(username="olga")
    model = factories.scripted_model("script")

    def start(schema: str, *options: str) -> str:
        (tmp_path / "schema.json").write_text(schema)
        words = script(call("message", type="result", text="Three.", data=DATA))
        where = ("--user", "olga", "--model", model.name, "--output-schema", str(tmp_path / "schema.json"))
        call_command("run_agent", words, *where, *options)
        return capsys.readouterr().out

    return start


def test_data_follows_the_text(run):
    words, _, data = run(json.dumps(SCHEMA)).partition("\n")
    assert (words, json.loads(data)) == ("Three.", DATA)


def test_data_is_in_the_last_json_line(run):
    *_, last = run(json.dumps(SCHEMA), "--jsonl").strip().splitlines()
    assert json.loads(last)["final_result"]["data"] == DATA


@pytest.mark.parametrize("schema", ["{", '{"type": "numbr"}'], ids=["no JSON", "no schema"])
def test_invalid_schema_file_is_a_usage_error(run, schema):
    with pytest.raises(CommandError) as refused:
        run(schema)
    assert refused.value.returncode == 2
