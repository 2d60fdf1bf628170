"""Where tools may go beside the public internet."""

from django.db import models


class AllowedAddress(models.Model):
    """An internal host that tools may reach all the same."""

    address = models.CharField(max_length=255, unique=True, help_text="host or host:port")

    class Meta:
        db_table = "allowed_addresses"
        ordering = ["address"]
        verbose_name_plural = "allowed addresses"

    def __str__(self) -> str:
        return self.address
