"""An agent that calls what tests on the author's machine do not simulate, and
replies with what came of it."""

import json

from keepsake_sdk import Agent, ExecOutput, KeepsakeError, Session


class Plugin(Agent):
    name = "whole-host"
    version = "0.1.0"
    summary = "Calls what is not simulated."

    def handle(self, session: Session, message: str) -> str:
        return json.dumps({**memory(session), **forks(session), **sandbox(session)})


def memory(session: Session) -> dict:
    scope = session.scope()
    scope.remember_many(["Jordan likes tea.", "Jordan owns a red bicycle."])
    fresh = scope.compare_and_set("step", None, 1)
    stale = scope.compare_and_set("step", 7, 2)
    gone = scope.compare_and_set("step", 1, None)
    info = session.embedding_info()
    [vector] = session.embed(["tea"], "query")
    return {
        "swapped": [fresh, stale, gone],
        "vector": len(vector) == info.dimensions,
        "model": bool(session.model_info().model),
    }


def forks(session: Session) -> dict:
    scope = session.scope()
    branch = scope.fork("draft")
    branch.scope().remember("Jordan moved to Oslo.")
    branch.scope().set("step", "packing")
    difference = branch.diff()
    merged = branch.merge()
    branch.discard()
    thrown_away = scope.fork("second")
    thrown_away.scope().remember("Jordan sold the bicycle.")
    thrown_away.discard()
    compacted = scope.compact(max_facts=1)
    return {
        "added": [fact.content for fact in difference.added],
        "working": difference.working,
        "merged": merged.added,
        "step": scope.get("step"),
        "compacted": [compacted.removed, compacted.remaining],
        "tree": len(scope.episode_tree()) > 0,
        "lineage": any(one.kind == "memory-merged" for one in scope.episodes(lineage=True)),
    }


def sandbox(session: Session) -> dict:
    box = session.sandbox()
    printed = {"stdout": "", "stderr": ""}
    code = None
    for event in box.start("echo one; echo two >&2; exit 3"):
        if isinstance(event, ExecOutput):
            printed[event.stream] += event.text
        else:
            code = event.code
    box.write_file("kept.txt", "kept")
    checkpoint = box.checkpoint("before")
    box.remove_file("kept.txt")
    copy = box.fork(checkpoint.id)
    kept = copy.read_text("kept.txt")
    copy.close()
    slow = next(iter(box.start("echo begun; sleep 60")))
    try:
        box.read_file("kept.txt")
        missing = None
    except KeepsakeError as error:
        missing = error.code
    return {
        **printed,
        "code": code,
        "kept": kept,
        "missing": missing,
        "begun": slow.text,
        "metrics": box.metrics().disk_bytes is not None,
    }
