import json
import unittest

from keepsake_sdk import KeepsakeError, memory_tools, run_agent_loop, tool, user
from keepsake_sdk.agent_loop import CALLS_PER_ROUND, TOOL_ANSWER_BYTES
from keepsake_sdk.testing import Host

SCHEMA = {
    "type": "object",
    "properties": {"parcel": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["parcel"],
    "additionalProperties": False,
}


@tool("track_parcel", "Says where a parcel is.", SCHEMA)
def track(given, session):
    return f"{given['parcel']} is in Oslo"


def loop(host, tools=(), **options):
    return run_agent_loop(host.session(), [user("Where is it?")], tools, **options)


def answers(outcome):
    return [message.content for message in outcome.messages if message.role == "tool"]


class AgentLoop(unittest.TestCase):
    def test_tools_are_run_and_their_answers_told_to_the_model(self):
        host = Host().model_calls(("track_parcel", {"parcel": "A-1"})).model_says("In Oslo.")
        outcome = loop(host, [track])
        self.assertEqual((outcome.text, host.emitted, outcome.rounds), ("In Oslo.", "In Oslo.", 2))
        self.assertEqual(answers(outcome), ['"A-1 is in Oslo"'])
        self.assertEqual(json.loads(host.requests[0].tools[0].parameters), SCHEMA)

    def test_wrong_arguments_are_told_to_the_model_and_no_fault(self):
        for given, said in [
            ({}, "must have `parcel`"),
            ({"parcel": 7}, "must be of type string, not number"),
            ({"parcel": "A", "days": 1.5}, "must be of type integer"),
            ({"parcel": "A", "days": True}, "must be of type integer, not boolean"),
            ({"parcel": "A", "colour": "red"}, "must not have `colour`"),
            ('{"parcel":', "is not JSON"),
        ]:
            with self.subTest(said):
                host = Host().model_calls(("track_parcel", given)).model_says("ok")
                outcome = loop(host, [track])
                self.assertIn(said, json.loads(answers(outcome)[0])["error"]["message"])
                self.assertTrue(outcome.calls[0].failed)

    def test_an_unknown_tool_is_told_with_those_that_there_are(self):
        outcome = loop(Host().model_calls(("fly", {})).model_says("ok"), [track])
        self.assertIn("no tool `fly`; there are track_parcel", answers(outcome)[0])

    def test_a_fault_in_a_tool_ends_the_turn(self):
        broken = tool("broken", "x")(lambda given, session: {}["nothing"])
        with self.assertRaises(KeyError):
            loop(Host().model_calls(("broken", {})), [broken])

    def test_the_last_round_offers_no_tools(self):
        host = Host()
        for parcel in "AB":
            host.model_calls(("track_parcel", {"parcel": parcel}))
        with self.assertRaises(KeepsakeError) as caught:
            loop(host, [track], rounds=2)
        self.assertEqual(caught.exception.limit, "agent-rounds")
        self.assertEqual([len(request.tools) for request in host.requests], [1, 0])

    def test_answers_beyond_the_bound_are_cut_and_calls_beyond_it_told_to_wait(self):
        long = tool("long", "x")(lambda given, session: "é" * TOOL_ANSWER_BYTES)
        calls = [("long", {})] * (CALLS_PER_ROUND + 1)
        outcome = loop(Host().model_calls(*calls).model_says("ok"), [long])
        self.assertEqual(len(answers(outcome)), len(calls))
        self.assertIn("cut: the answer has", answers(outcome)[0])
        self.assertIn("only 16 calls are run at once", answers(outcome)[-1])
        self.assertLess(len(outcome.calls), len(calls))

    def test_the_memory_tools_remember_recall_and_keep_values(self):
        host = (
            Host()
            .model_calls(
                ("remember_fact", {"content": "Jordan has a cat."}),
                ("set_working_memory", {"key": "case", "value": 7}),
            )
            .model_calls(("recall_facts", {"query": "cat"}), ("get_working_memory", {}))
            .model_says("Done.")
        )
        outcome = loop(host, memory_tools())
        self.assertEqual([fact.content for fact in host.facts], ["Jordan has a cat."])
        self.assertEqual(host.working("case"), 7)
        self.assertFalse(any(call.failed for call in outcome.calls), outcome.calls)
        self.assertEqual(json.loads(answers(outcome)[3]), {"profile": {}, "values": {"case": 7}})

    def test_wrong_arguments_are_answered_with_the_schema(self):
        outcome = loop(Host().model_calls(("track_parcel", {})).model_says("ok"), [track])
        self.assertEqual(json.loads(answers(outcome)[0])["error"]["parameters"], SCHEMA)

    def test_a_call_that_keeps_giving_the_same_answer_is_stopped_however_it_is_written(self):
        host = Host()
        for number in range(4):
            written = '{"parcel":"A","days":1}' if number % 2 else '{ "days": 1, "parcel": "A" }'
            host.model_calls(("track_parcel", written))
        outcome = loop(host.model_says("In Oslo."), [track])
        self.assertEqual(len(outcome.calls), 3)
        self.assertIn("was run 3 times with these arguments", answers(outcome)[-1])
        self.assertEqual(host.requests[-1].tools, [])

    def test_a_call_that_learns_something_new_counts_anew(self):
        count = iter(range(10))
        look = tool("look", "x")(lambda given, session: next(count))
        host = Host()
        for _ in range(6):
            host.model_calls(("look", {}))
        self.assertEqual(len(loop(host.model_says("ok"), [look]).calls), 6)
