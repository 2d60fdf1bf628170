from collections.abc import Iterator

from agentsite.configuration import schema
from agentsite.configuration.rows import put
from llm_app.models import ServiceKey
from tools_app.models import SearchEngine


def apply(search: schema.Search | None) -> Iterator[str]:
    """The engine has the name of its kind; others that are set up stay, and are asked when it fails."""
    if search is None:
        return
    what, values = f"search engine {search.provider}", search.given("provider", "api_key")
    row = SearchEngine.objects.filter(name=search.provider).first() or SearchEngine(name=search.provider)
    yield from put(row, {"kind": search.provider, **values}, what)
    if "api_key" in search.model_fields_set and ServiceKey.put(row.key_name, search.api_key.get_secret_value()):
        yield f"{what}: api_key changed"
