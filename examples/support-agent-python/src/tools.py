"""The tools of this agent. Whatever keeps something refuses secrets first."""

from __future__ import annotations

from typing import Any

from keepsake_sdk import KeepsakeError, Session, Tool, memory_tools, sandbox_tools, tool

from case_file import CaseFile
from confidential import refuse
from customer_profile import PATCH_SCHEMA

#: Letters and digits in the shortest quote that shows anything.
SHORTEST_QUOTE = 3
#: What models call the customer.
CUSTOMER = ("customer", "the customer", "user", "the user", "client", "me")

_STANDARD = {tool.name: tool for tool in memory_tools() + sandbox_tools()}


def tools(case: CaseFile | None) -> list[Tool]:
    """The tools of one turn. Commands are run only where there is a sandbox."""
    of_turn = [
        _update_profile,
        _set_working_memory,
        _STANDARD["get_working_memory"],
        _remember_fact(case),
        _STANDARD["recall_facts"],
    ]
    return of_turn + ([_STANDARD["run_command"]] if case else [])


@tool(
    "update_profile",
    "Sets values of the customer's profile, which every later conversation begins with: name, plan, "
    "email, phone, language, and others of the same kind.",
    PATCH_SCHEMA,
)
def _update_profile(given: dict[str, Any], session: Session) -> Any:
    refuse(given["patch"])
    return {"profile": session.scope().update_profile(given["patch"])}


@tool(
    "set_working_memory",
    "Keeps a value that the work on this customer's case needs in this and later conversations, "
    "such as the step that comes next. Use remember_fact for what the customer told about "
    "themselves, update_profile for who they are.",
    _STANDARD["set_working_memory"].parameters,
)
def _set_working_memory(given: dict[str, Any], session: Session) -> Any:
    # As the SDK's tool of this name, which knows nothing of secrets.
    refuse({given["key"]: given["value"]})
    return _STANDARD["set_working_memory"].run(given, session)


def _parameters() -> dict[str, Any]:
    known = _STANDARD["remember_fact"].parameters["properties"]
    told = {
        "quote": "Words that show the fact, to the letter: from the customer's message, or from "
        "what the source printed. They make the fact verified.",
        "source": "The `entry` of a run_command answer that printed the quote. Leave it out for a "
        "quote from the customer's message.",
        "subject": "Whose property it is; leave it out for the customer's own.",
    }
    members = ("content", "quote", "source", "attribute", "subject", "supersedes", "keep")
    properties = {
        name: {**known[name], "description": told[name]} if name in told else known[name]
        for name in members
    }
    return {"type": "object", "properties": properties, "required": ["content"]}


def _remember_fact(case: CaseFile | None) -> Tool:
    """Remembers a fact. Where the model names no source, the quote is looked up
    in the customer's message, and the entry of that command is the source."""

    @tool(
        "remember_fact",
        "Remembers a lasting fact about this customer for later conversations. With a quote of what "
        "the customer just wrote, or of what a command printed, it is marked as verified. The answer "
        "says whether it is.",
        _parameters(),
    )
    def remember_fact(given: dict[str, Any], session: Session) -> Any:
        refuse({name: given.get(name) for name in ("content", "quote", "subject", "attribute")})
        return _remember(session, case, given)

    return remember_fact


def _remember(session: Session, case: CaseFile | None, given: dict[str, Any]) -> Any:
    quote, source = given.get("quote", ""), given.get("source")
    fact = {key: given[key] for key in ("content", "supersedes", "keep") if key in given}
    fact |= _about(session, given.get("subject", ""), given.get("attribute", ""))
    if sum(map(str.isalnum, quote)) < SHORTEST_QUOTE:
        if source is not None:
            raise KeepsakeError.invalid(
                "a source needs the words that it printed: give them as `quote`, or leave the "
                "source out"
            )
        return _keep(session, fact)
    if source is not None:
        try:
            return _keep(session, fact | {"source": source, "quote": quote})
        except KeepsakeError as error:
            # The model may have meant the message and made the source up.
            shown = _shown(session, case, quote) if error.code == "invalid" else {}
            if not shown:
                raise
            note = "the source was refused; the quote was found in the message instead"
            return {"note": note} | _keep(session, fact | shown)
    shown = _shown(session, case, quote)
    if shown:
        return _keep(session, fact | shown)
    note = "the quote was not shown to stand in the customer's message, so that the fact is not verified"
    # What to do about a fact that was not stored goes before this.
    return {"note": note} | _keep(session, fact)


def _keep(session: Session, fact: dict[str, Any]) -> dict[str, Any]:
    return _STANDARD["remember_fact"].run(fact, session)


def _shown(session: Session, case: CaseFile | None, quote: str) -> dict[str, Any]:
    """The source and the quote, where the message holds it."""
    entry = case.find(session, quote) if case else None
    if entry is None:
        return {}
    source = {"session": entry.session, "index": entry.index, "hash": entry.hash}
    return {"source": source, "quote": quote}


def _about(session: Session, subject: str, attribute: str) -> dict[str, str]:
    """The subject and attribute in one form, so that a new value meets the old
    one, whatever the model calls the customer in this conversation."""
    attribute = "_".join(attribute.lower().replace("-", " ").split())
    if not attribute:
        return {}
    customer = session.info().resource
    whose = " ".join(subject.split())
    own = whose in ("", customer) or _is_customer(session, whose.lower())
    return {"subject": customer if own else whose, "attribute": attribute}


def _is_customer(session: Session, subject: str) -> bool:
    if subject in CUSTOMER:
        return True
    name = str(session.scope().profile().get("name", "")).lower()
    return subject in (name, *name.split()[:1])
