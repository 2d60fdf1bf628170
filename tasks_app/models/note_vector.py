"""What a memory note means, as a model of embeddings says it."""

import hashlib

from django.db import models

from tasks_app.models.memory_note import MemoryNote


class NoteVector(models.Model):
    """`values` are float32, as a vector of length 1. It stands for the text of the digest: another text needs another.

    `model` is the provider's name of it: vectors of two models have nothing in common.
    """

    note = models.ForeignKey(MemoryNote, models.CASCADE, related_name="vectors")
    model = models.CharField(max_length=200)
    digest = models.CharField(max_length=64)
    values = models.BinaryField()

    class Meta:
        db_table = "memory_vectors"
        constraints = [models.UniqueConstraint(fields=["note", "model"], name="one_vector_per_note_and_model")]

    def __str__(self) -> str:
        return f"{self.note_id} by {self.model}"


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()
