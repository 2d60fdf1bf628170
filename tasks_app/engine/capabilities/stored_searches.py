"""What the tool search needs of stored data."""

from collections.abc import Sequence

from llm_app.call.llm_call import Runner
from llm_app.models import ServiceKey
from tasks_app.runtime import threads
from tools_app.models import CachedSearch, SearchEngine
from tools_app.search_engines.base import Engine


class StoredSearches:
    """`capabilities.Searches` for one user."""

    def __init__(self, user_id: int) -> None:
        self._user_id = user_id

    async def engines(self) -> Sequence[Engine]:
        return await threads.in_thread(_engines)

    async def kept(self, key: str) -> str:
        return await threads.in_thread(lambda _: self._kept(key))

    def _kept(self, key: str) -> str:
        CachedSearch.objects.expired().delete()
        newest = CachedSearch.objects.filter(user=self._user_id, key=key).last()
        return newest.content if newest else ""


def _engines(run: Runner) -> list[Engine]:
    rows = list(SearchEngine.objects.filter(enabled=True))
    stored = ServiceKey.objects.filter(name__in=[row.key_name for row in rows])
    keys = {key.name: key.value for key in stored}
    return [
        Engine(name=row.name, kind=row.kind, base_url=row.base_url, api_key=keys.get(row.key_name, "")) for row in rows
    ]
