"""The component's entry for an embedding provider."""

from __future__ import annotations

from typing import Any

# The plugin's own module, and what is generated with the component.
import plugin
from wit_world import exports
from wit_world.imports import log, settings

from ..plugin import EmbeddingProvider
from ..session import Context
from ..values import case, record
from .guard import guarded, the_only

_plugin = the_only(EmbeddingProvider, vars(plugin))
_context = Context(record(log=log, settings=settings))


class Embeddings(exports.Embeddings):
    def info(self) -> Any:
        return guarded(_plugin.info, _context)

    def embed(self, texts: list[str], kind: Any) -> list[list[float]]:
        return guarded(_plugin.embed, _context, texts, case(kind))
