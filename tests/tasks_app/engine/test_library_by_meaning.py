"""The library with an embedding model: passages are found by meaning, by people who can see them."""

from datetime import timedelta

import pytest
from django.utils import timezone

from llm_app.models import Budget, LLMLog, LogicalModel, Route, Secret, Spending
from tasks_app.memory import library as search_of_library
from tasks_app.models import LibraryFile, PassageVector
from tasks_app.services import library
from tests.provider import openai_embeddings
from tests.tasks_app.engine.conftest import result
from tests.tasks_app.engine.test_library import ask, bring, project, search
from tests.tasks_app.engine.test_memory_by_meaning import REFUSED, embedder, inputs, vector_of

__all__ = ["ask", "bring", "embedder", "project"]
CARS = ("cars.txt", b"The automobile is red.")
BILLS = ("bills.txt", b"An invoice goes out on Tuesdays.")


def index():
    """Index as the background does, until nothing is left for now."""
    worker = search_of_library.VectorIndex()
    while worker.work():
        pass
    return worker


def found(run):
    return run.results()[-2][1]


def test_a_passage_that_shares_no_word_with_the_question_is_found_and_cited(bring, ask, embedder):
    cars, _ = bring(CARS, BILLS)
    assert "No passage matches" in found(ask(search("vehicle"), result()))
    assert embedder.received == []
    index()
    assert inputs(embedder) == [["The automobile is red."], ["An invoice goes out on Tuesdays."]]
    told = found(ask(search("vehicle"), result()))
    assert f'cite="[cars.txt, part 1](library:{cars.pk}/1)"' in told
    assert "Tuesdays" not in told


def test_matches_in_words_and_meaning_rank_first(bring, ask, embedder):
    bring(("a.txt", b"The bill is late."), ("b.txt", b"Where it goes out, it goes out."), BILLS)
    index()
    told = found(ask(search("invoice goes out"), result()))
    assert told.index("Tuesdays") < min(told.index("Where it goes"), told.index("bill is late"))


def test_a_passage_gets_one_vector_and_another_when_the_model_changes(bring, ask, embedder):
    (file,) = bring(CARS)
    worker = index()
    file.refresh_from_db()
    assert (file.vectors_of, file.vectors_problem) == ("embed-1", "")
    assert not worker.work()
    assert len(embedder.received) == 1
    Route.objects.filter(provider_model="embed-1").update(provider_model="embed-2")
    assert "No passage matches" in found(
        ask(search("vehicle"), result())
    )  # vectors of the old model are not comparable
    while worker.work():
        pass
    assert [vector.model for vector in PassageVector.objects.all()] == ["embed-2"]
    assert "red" in found(ask(search("vehicle"), result()))


def test_the_first_model_indexes_everything(bring, ask, embedder):
    LogicalModel.objects.filter(name="meanings").update(kind="text")
    (file,) = bring(CARS)
    worker = index()
    file.refresh_from_db()
    assert (file.vectors_of, embedder.received) == ("", [])
    LogicalModel.objects.filter(name="meanings").update(kind="embedding")
    while worker.work():
        pass
    assert PassageVector.objects.count() == 1


def test_a_silent_model_leaves_the_word_search(bring, ask, embedder):
    embedder.replies = [REFUSED]
    (file,) = bring(CARS)
    worker = index()
    file.refresh_from_db()
    assert (file.state, file.vectors_of, "400" in file.vectors_problem) == ("ready", None, True)
    assert "red" in found(ask(search("automobile"), result()))
    sent = len(embedder.received)
    assert not worker.work()
    assert len(embedder.received) == sent
    embedder.replies = [openai_embeddings(vector_of)]
    LibraryFile.objects.update(held_until=timezone.now() - timedelta(seconds=1))
    index()
    file.refresh_from_db()
    assert (file.vectors_of, file.vectors_problem) == ("embed-1", "")


def test_vectors_of_a_fallback_model_are_not_mixed_in(bring, embedder, monkeypatch):
    (file,) = bring(CARS)
    monkeypatch.setattr(search_of_library, "_model_of", lambda owner: "embed-9")
    index()
    file.refresh_from_db()
    assert file.vectors_problem == "embed-1 answered in place of embed-9"
    assert not PassageVector.objects.exists()


def test_many_passages_are_indexed_in_batches_by_one_process(bring, embedder, monkeypatch):
    monkeypatch.setattr(search_of_library, "EMBED_BATCH", 2)
    bring(("long.txt", b"\n".join(b"%d " % n + b"word " * 190 for n in range(5))))
    first, second = search_of_library.VectorIndex(), search_of_library.VectorIndex()
    assert first.work()
    assert PassageVector.objects.count() == 2
    LibraryFile.objects.update(held_until=timezone.now() + search_of_library.HOLD_DURATION)  # by the first one
    assert not second.work()
    LibraryFile.objects.update(held_until=None)
    index()
    assert [len(texts) for texts in inputs(embedder)] == [2, 2, 1]


def test_the_owner_pays_for_the_index_and_the_asker_for_the_question(bring, ask, project, owner, carol, embedder):
    Secret.objects.create(owner=carol, name="KEY", value="s3cr3t-value")
    project.memberships.create(user=carol, may_write=True)
    Budget.objects.create(user=owner, usd_per_day=1)
    bring(("cars.txt", b"The automobile opens with s3cr3t-value."))
    index()
    assert b"s3cr3t" not in embedder.received[0].raw
    log = LLMLog.objects.get(adapter="openai_embeddings")
    assert (log.user_id, log.task_id, log.session_id, log.purpose) == (owner.pk, None, None, "memory")
    assert float(Spending.objects.get(key__startswith=f"user {owner.pk} ").usd) == pytest.approx(5e-6)
    run = ask(search("vehicle"), result(), by=carol)
    question = LLMLog.objects.filter(adapter="openai_embeddings").latest("created_at")
    assert (question.user_id, question.task_id) == (carol.pk, run.task.pk)


def test_an_owner_without_a_budget_has_word_search(bring, ask, owner, embedder):
    Budget.objects.create(user=owner, usd_per_day=0)
    (file,) = bring(CARS)
    index()
    file.refresh_from_db()
    assert embedder.received == []
    assert file.vectors_problem


def test_a_deleted_file_takes_its_vectors_along_and_other_projects_are_never_compared(bring, ask, charlie, embedder):
    from tasks_app.models import Project

    (file,) = bring(CARS)
    bring(BILLS)
    index()
    LibraryFile.objects.filter(pk=file.pk).update(project=Project.objects.create(owner=charlie, name="Secret"))
    assert "No passage matches" in found(ask(search("vehicle"), result()))
    file.refresh_from_db()
    library.delete_file(file)
    assert PassageVector.objects.count() == 1


def test_a_question_with_a_silent_model_is_answered_by_words(bring, ask, embedder):
    bring(CARS)
    index()
    embedder.replies = [REFUSED]
    assert "red" in found(ask(search("the automobile"), result()))
