"""Providers that can be set up from a key alone, and the order of their models, as data."""

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from llm_app import protocols
from llm_app.base_address import has_path, is_host_below
from llm_app.models import Protocol, Provider


@dataclass(frozen=True, kw_only=True)
class ModelFamily:
    """Models with similar names. The groups of `pattern` are the version; the highest version is preferred."""

    pattern: str
    context_window: int


@dataclass(frozen=True, kw_only=True)
class KnownProvider:
    """A known provider.

    `protocols` and `families` are in order of preference; `key` matches keys of this provider only.

    `model` is tested if the provider does not list its models.
    """

    name: str
    label: str
    key: str
    base_url: str
    protocols: tuple[str, ...]
    families: tuple[ModelFamily, ...]
    model: str
    takes_images: bool

    @property
    def variable(self) -> str:
        """Return the environment variable of its key. X_BASE_URL next to X_API_KEY overrides the address."""
        return f"{self.name.upper()}_API_KEY"

    @property
    def address_variable(self) -> str:
        return f"{self.name.upper()}_BASE_URL"

    def provider(self, key: str, address: str = "") -> Provider:
        """Return an unsaved provider."""
        address = address or self.base_url
        name = self.name if self.base_url else urlsplit(address).hostname or self.name
        protocol = self.protocols_at(address)[0]
        return Provider(name=name[:100], protocol=protocol, base_url=address, api_key=key)

    def protocols_at(self, address: str) -> list[str]:
        """Return the protocols in order of preference.

        Other servers with OpenAI's API have at least chat completions.
        """
        installed = [protocol for protocol in self.protocols if protocol in protocols.adapters()]
        if urlsplit(address).hostname != urlsplit(self.base_url).hostname:
            installed.sort(key=lambda protocol: protocol != Protocol.OPENAI_NATIVE)
        return installed


# The providers' documentation of 22 November 2026. Windows are smaller than the maximum where long requests are
# expensive: from GPT-5.4 on, requests above 272,000 tokens cost twice as much.
# OpenAI: developers.openai.com/api/docs/models (gpt-6.1-sol, gpt-5.6-sol …). From GPT-5.5 on, chat completions refuse
# functions unless reasoning is off (github.com/openai/openai-openapi/issues/541), so the Responses API comes first.
# Anthropic: platform.claude.com/docs/en/models/overview.
# Gemini: ai.google.dev/gemini-api/docs/deprecations (2.5 was shut down in November 2026).
# DeepSeek: api-docs.deepseek.com/api/list-models (deepseek-chat was retired in July 2026).
_OPENAI = (
    ModelFamily(pattern=r"gpt-((?:[5-9]|\d\d)(?:\.\d+)?)(?:-sol)?(?:-\d{4}-\d\d-\d\d)?", context_window=272_000),
    ModelFamily(pattern=r"gpt-((?:[5-9]|\d\d)(?:\.\d+)?)-(?:terra|mini|luna)", context_window=272_000),
    ModelFamily(pattern=r"gpt-(4\.1)(?:-mini)?", context_window=272_000),
    ModelFamily(pattern=r"gpt-4o(?:-mini)?", context_window=128_000),
)
_ANTHROPIC = tuple(
    ModelFamily(pattern=rf"claude-{size}-(\d+)(?:[-.](\d{{1,2}}))?(?:-\d{{8}})?", context_window=200_000)
    for size in ("opus", "sonnet", "haiku")
)
_GEMINI = (
    ModelFamily(pattern=r"gemini-(\d+(?:\.\d+)?)-(?:pro|flash)", context_window=400_000),
    ModelFamily(pattern=r"gemini-(\d+(?:\.\d+)?)-(?:pro|flash)-preview", context_window=400_000),
    ModelFamily(pattern=r"gemini-(?:pro|flash)-latest", context_window=400_000),
)
_DEEPSEEK = (
    ModelFamily(pattern=r"deepseek-flash", context_window=400_000),
    ModelFamily(pattern=r"deepseek-v(\d+(?:\.\d+)?)-(?:pro|flash)", context_window=400_000),
    ModelFamily(pattern=r"deepseek-chat", context_window=128_000),
)
COMPATIBLE = KnownProvider(
    name="compatible",
    label="another server with OpenAI's API",
    key=r"(?!)",
    base_url="",
    protocols=(Protocol.OPENAI_NATIVE,),
    families=(*_OPENAI, *_ANTHROPIC, *_GEMINI, *_DEEPSEEK),
    model="",
    takes_images=False,
)
KNOWN_PROVIDERS = (
    KnownProvider(
        name="openai",
        label="OpenAI",
        key=r"sk-(?:proj-|svcacct-|admin-).*",
        base_url="https://api.openai.com/v1",
        protocols=("openai_responses", Protocol.OPENAI_NATIVE),
        families=_OPENAI,
        model="gpt-6.1-sol",
        takes_images=True,
    ),
    KnownProvider(
        name="anthropic",
        label="Anthropic",
        key=r"sk-ant-.*",
        base_url="https://api.anthropic.com",
        protocols=(Protocol.ANTHROPIC_NATIVE,),
        families=_ANTHROPIC,
        model="claude-opus-5-5",
        takes_images=True,
    ),
    KnownProvider(
        name="gemini",
        label="Google Gemini",
        key=r"(?:AIza|AQ\.).*",
        base_url="https://generativelanguage.googleapis.com/v1beta/openai",
        protocols=(Protocol.OPENAI_NATIVE,),
        families=_GEMINI,
        model="gemini-3.8-flash",
        takes_images=True,
    ),
    KnownProvider(
        name="deepseek",
        label="DeepSeek",
        key=r"sk-[0-9a-f]{32}",
        base_url="https://api.deepseek.com/v1",
        protocols=(Protocol.OPENAI_NATIVE,),
        families=_DEEPSEEK,
        model="deepseek-flash",
        takes_images=False,
    ),
)


def provider_of_key(key: str, address: str = "") -> KnownProvider | None:
    """Return the provider of a key. With an address, a key of unknown form belongs to a compatible server."""
    provider = next((known for known in KNOWN_PROVIDERS if re.fullmatch(known.key, key)), None)
    if provider is None and address:
        return COMPATIBLE
    if provider is None and key.startswith("sk-"):
        return KNOWN_PROVIDERS[0]  # older keys of OpenAI only have this prefix
    return provider


def completed_address(address: str) -> str:
    """Return the address with the path of the known provider at this host, if it has no path."""
    for known in KNOWN_PROVIDERS:
        host = urlsplit(known.base_url).hostname
        if host and is_host_below(address, host) and not has_path(address):
            return known.base_url
    return address


def known_provider(name: str) -> KnownProvider | None:
    return next((provider for provider in (*KNOWN_PROVIDERS, COMPATIBLE) if provider.name == name), None)
