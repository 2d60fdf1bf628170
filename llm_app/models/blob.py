"""Content-addressed texts: what is part of a request but no entry of the record."""

import hashlib

from django.db import models


class Blob(models.Model):
    """A system prompt, a tool list, a compacted block …, stored once under its SHA-256."""

    sha256 = models.CharField(max_length=64, primary_key=True)
    content = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "blobs"

    def __str__(self) -> str:
        return self.sha256[:12]

    @classmethod
    def keep(cls, content: str) -> str:
        """Stores `content` unless it is there already; returns its address."""
        address = hashlib.sha256(content.encode()).hexdigest()
        cls.objects.get_or_create(sha256=address, defaults={"content": content})
        return address
