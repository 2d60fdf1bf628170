"""Memory with an embedding model: notes are found by meaning; without an answer, by words."""

import hashlib

import pytest
from django.db import connection

from llm_app.models import Budget, LLMLog, Reservation, Secret, Spending
from tasks_app import services
from tasks_app.memory import embedder as embedder_module
from tasks_app.memory import search as memory_search
from tasks_app.models import MemoryNote, NoteVector
from tasks_app.replay import verification
from tests import factories, provider
from tests.provider import Reply, openai_embeddings
from tests.tasks_app.engine.conftest import call, result
from tests.tasks_app.engine.test_memory import ask, start_of

__all__ = ["ask"]
MEANINGS = (("car", "automobile", "vehicle"), ("invoice", "bill"), ("tea", "coffee"))
REFUSED = Reply(status=400, chunks=[b"no"], content_type="text/plain")


@pytest.fixture(autouse=True)
def _search_also_few_notes(monkeypatch):
    """Search as if there were too many notes to give them all."""
    monkeypatch.setattr(memory_search, "MAX_ALWAYS_BYTES", 0)


def vector_of(text):
    """Return a vector with one axis for each meaning, and one for everything else."""
    said = [float(sum(word in text.lower() for word in words)) for words in MEANINGS]
    return [*said, 0.01]


@pytest.fixture
def embedder(owner):
    """A provider of embeddings, with a model that is routed to it."""
    with provider.running() as running:
        running.replies = [openai_embeddings(vector_of)]
        row = factories.ProviderFactory(protocol="openai_native", base_url=running.base_url, timeout_s=30)
        model = factories.LogicalModelFactory(name="meanings", kind="embedding")
        price = {"input": 1, "output": 0}
        factories.RouteFactory(model=model, provider=row, provider_model="embed-1", price=price)
        yield running


@pytest.fixture
def notes(owner):
    texts = ("The automobile is red.", "The invoice goes out on Tuesdays.", "A note of nothing at all.")
    return [MemoryNote.objects.create(owner=owner, text=text) for text in texts]


def inputs(embedder):
    """Return the texts of each call, without the scripts."""
    return [[text.partition("\n")[0] for text in received.body["input"]] for received in embedder.received]


def test_a_task_gets_a_note_that_shares_no_word_with_its_message(ask, embedder, notes):
    told = start_of(ask("Which colour has my vehicle?"))
    assert "The automobile is red." in told
    assert "Tuesdays" not in told
    assert inputs(embedder) == [["Which colour has my vehicle?"], [note.text for note in reversed(notes)]]


def test_the_memory_tool_finds_by_meaning(ask, embedder, notes):
    run = ask("Hello there", call("memory", action="search", text="vehicle"), result())
    assert "The automobile is red." in run.results()[0][1]


def test_notes_near_in_words_and_meaning_come_first(ask, owner, embedder):
    texts = ("The bill is late.", "The invoice goes out.", "Going out tonight?")
    for text in texts:
        MemoryNote.objects.create(owner=owner, text=text)
    told = start_of(ask("When goes the invoice out?"))
    assert "The invoice goes out." in told.partition("<memory>\n")[2].splitlines()[0]
    assert "The bill is late." in told


def test_a_note_gets_its_vector_once_and_another_when_its_text_changes(ask, embedder, notes):
    ask("my vehicle")
    ask("my vehicle")
    assert [len(texts) for texts in inputs(embedder)] == [1, 3, 1]
    notes[1].text = "The automobile was sold."
    notes[1].save()
    assert "was sold" in start_of(ask("my vehicle"))
    assert inputs(embedder)[-1] == ["The automobile was sold."]
    digest = hashlib.sha256(notes[1].text.encode()).hexdigest()
    assert NoteVector.objects.get(note=notes[1]).digest == digest
    assert NoteVector.objects.count() == 3


@pytest.mark.parametrize(
    "answer",
    [
        REFUSED,
        Reply(chunks=[b'{"data": []}'], content_type="application/json"),
        openai_embeddings(lambda text: ["x"]),
        openai_embeddings(lambda text: [0.0, 0.0]),
    ],
    ids=["refused", "empty", "no numbers", "no direction"],
)
def test_without_an_answer_the_word_search_is_used(ask, embedder, notes, answer, monkeypatch):
    monkeypatch.setattr(embedder_module, "TIMEOUT", 1.0)
    embedder.replies = [answer]
    run = ask("When does the invoice go out?")
    assert run.task.state == "done"
    assert "Tuesdays" in start_of(run)
    assert not NoteVector.objects.exists()


def test_a_silent_provider_is_not_awaited(ask, embedder, notes, monkeypatch):
    monkeypatch.setattr(embedder_module, "TIMEOUT", 0.3)
    embedder.replies = [Reply(stall_at=0, stall_s=60)]
    run = ask("When does the invoice go out?")
    assert "Tuesdays" in start_of(run)
    log = LLMLog.objects.get(adapter="openai_embeddings")
    assert (log.status, log.error_type, log.task_id) == ("aborted", "DeadlinePassed", run.task.pk)


def test_a_stop_ends_the_wait_for_it(play, embedder, notes, monkeypatch):
    monkeypatch.setattr(embedder_module, "TIMEOUT", 60)
    embedder.replies = [Reply(stall_at=0, stall_s=60)]
    run = play(result("invoice"))
    thread = run.in_thread()
    assert embedder.stalling.wait(30)
    services.stop(run.task)
    thread.join(30)
    assert embedder.hung_up.wait(30)
    run.task.refresh_from_db()
    assert (run.task.state, run.task.stopped) == ("failed", True)


def test_old_vectors_are_used_if_new_notes_have_none(ask, embedder, owner, notes):
    ask("my vehicle")
    MemoryNote.objects.create(owner=owner, text="My bicycle is a vehicle of steel.")
    embedder.replies = [openai_embeddings(vector_of), REFUSED]
    told = start_of(ask("Which automobiles do we have?"))
    assert "The automobile is red." in told
    assert "bicycle" not in told


def test_each_call_is_logged_redacted_priced_reserved_and_settled(ask, embedder, owner):
    MemoryNote.objects.create(owner=owner, text="The automobile opens with s3cr3t-value.")
    Secret.objects.create(owner=owner, name="KEY", value="s3cr3t-value")
    Budget.objects.create(user=owner, usd_per_day=1)
    held, answer = [], openai_embeddings(vector_of)

    def counted(received):
        held.append(Reservation.objects.filter(usd__gt=0).count())
        connection.close()
        return answer(received)

    embedder.replies = [counted]
    run = ask("Does s3cr3t-value open my vehicle?")
    assert held == [1, 1]
    assert [b"s3cr3t" in received.raw for received in embedder.received] == [False, False]
    assert b"[secret:KEY]" in embedder.received[1].raw
    question, notes = LLMLog.objects.filter(adapter="openai_embeddings").order_by("created_at")
    assert {log.purpose for log in (question, notes)} == {"memory"}
    assert (question.task_id, question.session_id) == (run.task.pk, run.task.session_id)
    assert (notes.task_id, notes.session_id, notes.user_id) == (None, None, owner.pk)
    assert [float(log.cost_usd) for log in (question, notes)] == [5e-6, 5e-6]
    assert float(Spending.objects.get(key__startswith=f"user {owner.pk} ").usd) == pytest.approx(1e-5)
    assert not Reservation.objects.exists()
    assert run.task.input_tokens >= 5
    assert all(found.is_whole for found in verification.of_everything())


def test_a_spent_budget_leaves_the_word_search(ask, embedder, owner, notes):
    Budget.objects.create(user=owner, usd_per_day=0)
    run = ask("When does the invoice go out?")
    assert "Tuesdays" in start_of(run)
    assert embedder.received == []


def test_forbidden_notes_are_never_sent(ask, embedder, owner, charlie, carol):
    MemoryNote.objects.create(owner=charlie, text="Charlie's automobile")
    MemoryNote.objects.create(owner=owner, text="Olga's automobile")
    MemoryNote.objects.create(text="The team's automobile")
    told = start_of(ask("our vehicle", members=[carol]))
    assert "The team's automobile" in told
    assert inputs(embedder)[1] == ["The team's automobile"]
    assert "Olga" not in told
    assert "<memory>" not in start_of(ask("our vehicle", off_record=True))
    assert len(embedder.received) == 2


def test_a_model_of_another_role_is_not_asked(ask, embedder, notes):
    from django.contrib.auth.models import Group

    from llm_app.models import LogicalModel

    LogicalModel.objects.get(name="meanings").roles.add(Group.objects.create(name="others"))
    assert "<memory>" not in start_of(ask("my vehicle"))
    assert embedder.received == []
