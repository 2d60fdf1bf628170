"""How many tokens a text costs, before a provider has said so."""


def estimate(text: str) -> int:
    """UTF-8 bytes / 3: high for prose, about right for code and for scripts other than Latin."""
    return len(text.encode(errors="replace")) // 3
