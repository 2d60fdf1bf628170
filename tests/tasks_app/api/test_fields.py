"""The fast JSON of sessions, tasks and entries has exactly the fields of its serializer."""

from typing import Any

import pytest
from rest_framework.serializers import BaseSerializer

from tasks_app.api.entries import EntrySerializer
from tasks_app.api.sessions import SessionSerializer, TaskBriefSerializer
from tasks_app.api.tasks import TaskSerializer


def fields(serializer: type[BaseSerializer[Any]]) -> set[str]:
    return set(serializer().fields)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("path", "serializer"),
    [
        ("sessions/", SessionSerializer),
        ("tasks/", TaskSerializer),
        ("sessions/{session}/entries/", EntrySerializer),
    ],
)
def test_json_has_the_fields_of_its_serializer(
    path: str, serializer: type[BaseSerializer[Any]], alices: Any, approving: Any
) -> None:
    results = alices.call("GET", path.format(session=approving.session_id)).json()["results"]
    assert results
    for result in results:
        assert set(result) == fields(serializer)


@pytest.mark.parametrize("path", ["sessions/{session}/", "tasks/{task}/"])
def test_one_row_equals_its_row_in_the_list(path: str, alices: Any, approving: Any) -> None:
    one = alices.call("GET", path.format(session=approving.session_id, task=approving.pk)).json()
    (listed,) = alices.call("GET", path.partition("/")[0] + "/").json()["results"]
    assert one == listed


def test_nested_objects_have_the_fields_of_their_serializers(alices: Any, approving: Any) -> None:
    (session,) = alices.call("GET", "sessions/").json()["results"]
    (task,) = alices.call("GET", "tasks/").json()["results"]
    assert set(session["task"]) == fields(TaskBriefSerializer)
    for name in ("pending", "usage"):
        assert set(task[name]) == set(TaskSerializer().fields[name].fields)  # type: ignore[attr-defined]
