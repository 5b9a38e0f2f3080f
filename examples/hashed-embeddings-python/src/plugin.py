"""The smallest embedding provider: hashed pieces of words. It knows no meaning,
but any language, and finds words that are spelled alike."""

import re
from collections.abc import Sequence

from keepsake_sdk import Context, EmbeddingInfo, EmbeddingProvider, normalise

DIMENSIONS = 256
#: What is longer takes too long; the host gives longer texts in parts.
MAX_TEXT_BYTES = 4096
#: As many long ones as one call has the time for.
MAX_TEXTS = 32


class Plugin(EmbeddingProvider):
    def info(self, context: Context) -> EmbeddingInfo:
        return EmbeddingInfo(
            "hashed-trigrams-256", DIMENSIONS, max_texts=MAX_TEXTS, max_text_bytes=MAX_TEXT_BYTES
        )

    def embed(self, context: Context, texts: Sequence[str], kind: str) -> list[list[float]]:
        return [embed(text) for text in texts]


def embed(text: str) -> list[float]:
    """Counts each run of three characters of each word, by its hash."""
    vector = [0.0] * DIMENSIONS
    for word in re.findall(r"[^\W_]+", text[:MAX_TEXT_BYTES].lower()):
        edged = f"<{word}>"
        for begin in range(len(edged) - 2):
            vector[_hash(edged[begin : begin + 3]) % DIMENSIONS] += 1.0
    return normalise(vector)


def _hash(characters: str) -> int:
    """The hash FNV-1a with 32 bits, over characters instead of bytes. Python's
    own differs from one component to the next."""
    value = 0x811C9DC5
    for character in characters:
        value = (value ^ ord(character)) * 0x01000193 & 0xFFFFFFFF
    return value
