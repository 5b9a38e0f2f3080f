"""The component's entry for an agent."""

from __future__ import annotations

from typing import Any

# The plugin's own module, and what is generated with the component.
import plugin
from wit_world import exports
from wit_world.exports import agent as wit
from wit_world.imports import agents, embeddings, log, model, session, settings

from ..plugin import Agent as Plugin
from ..plugin import Reply
from ..session import Session
from ..values import optional_json, record
from .guard import guarded, the_only

_plugin = the_only(Plugin, vars(plugin))
_host = record(
    agents=agents, embeddings=embeddings, log=log, model=model, session=session, settings=settings
)


class Agent(exports.Agent):
    def describe(self) -> wit.Description:
        return guarded(_describe)

    def handle(self, turn: wit.Turn) -> wit.Reply:
        return guarded(_handle, turn)


def _describe() -> wit.Description:
    schema = optional_json(_plugin.profile_schema)
    return wit.Description(_plugin.name, _plugin.version, _plugin.summary, schema, None)


def _handle(turn: Any) -> wit.Reply:
    reply = _plugin.handle(Session(_host), turn.message)
    if isinstance(reply, str):
        reply = Reply(reply)
    if not isinstance(reply, Reply):
        raise TypeError(f"`handle` answers with a text or a Reply, not {type(reply).__name__}")
    return wit.Reply(reply.text, optional_json(reply.data))
