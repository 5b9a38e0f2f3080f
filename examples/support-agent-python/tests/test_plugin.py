import json
import unittest
from typing import Any

from keepsake_sdk import KeepsakeError
from keepsake_sdk.testing import Host
from plugin import Plugin

UPGRADE = "Hi, I'm Jordan. I upgraded to the Pro plan on the 3rd."


def host(**settings: Any) -> Host:
    """A sandbox in which every look finds the message."""
    named = {key.replace("_", "-"): value for key, value in settings.items()}
    return Host("jordan", named).commands(lambda line: f"1:{UPGRADE}\n")


def remembering(**fact: Any) -> Host:
    return host().model_calls(("remember_fact", fact)).model_says("Noted.")


def last_answer(told: Host) -> Any:
    return json.loads(told.requests[-1].messages[-1].content)


class SupportAgent(unittest.TestCase):
    def test_a_quote_is_looked_up_in_the_message_and_makes_the_fact_verified(self) -> None:
        told = remembering(content="Jordan is on Pro.", quote="I upgraded to the Pro plan")
        told.turn(Plugin(), UPGRADE)
        self.assertEqual(
            told.commands_run, ["grep -n -F -e 'I upgraded to the Pro plan' -- case/turn-0.txt"]
        )
        self.assertTrue(told.facts[0].verified)

    def test_a_later_session_begins_with_what_is_known_and_a_new_plan_supersedes(self) -> None:
        told = remembering(
            content="Jordan is on the Pro plan.",
            attribute="Plan",
            subject="the customer",
            quote="the Pro plan",
        )
        told.turn(Plugin(), UPGRADE)
        told.new_session()
        told.model_calls(("remember_fact", {"content": "Jordan is on Free.", "attribute": "plan"}))
        told.model_says("Noted.").turn(Plugin(), "I downgraded to the Free plan.")
        self.assertRegex(
            told.requests[2].messages[0].content, r"Jordan is on the Pro plan\..*\(verified\)"
        )
        known = [(fact.content, fact.subject, fact.attribute) for fact in told.facts]
        self.assertEqual(known, [("Jordan is on Free.", "jordan", "plan")])

    def test_without_a_sandbox_facts_are_kept_unverified_and_the_operator_is_told(self) -> None:
        fact = {"content": "Jordan is on Pro.", "quote": "the Pro plan"}
        alone = Host().model_calls(("remember_fact", fact)).model_says("Noted.")
        alone.turn(Plugin(), UPGRADE)
        self.assertFalse(alone.facts[0].verified)
        self.assertIn("there is no sandbox", alone.logged[0][1])
        self.assertIn("not shown to stand in the customer's message", last_answer(alone)["note"])
        self.assertNotIn("run_command", [tool.name for tool in alone.requests[0].tools])

    def test_a_command_that_fails_proves_nothing(self) -> None:
        told = remembering(content="Jordan is on Pro.", quote="the Pro plan")
        told.commands(lambda line: (1, "", "no such file")).turn(Plugin(), UPGRADE)
        self.assertFalse(told.facts[0].verified)

    def test_a_source_that_was_made_up_is_told_or_the_quote_found_in_the_message(self) -> None:
        source = {"session": "elsewhere", "index": 9}
        bare = remembering(content="Jordan is on Pro.", source=source)
        bare.turn(Plugin(), UPGRADE)
        self.assertEqual(bare.facts, [])
        self.assertEqual(last_answer(bare)["error"]["code"], "invalid")
        quoted = remembering(content="Jordan is on Pro.", source=source, quote="the Pro plan")
        quoted.turn(Plugin(), UPGRADE)
        self.assertTrue(quoted.facts[0].verified)
        self.assertIn("the source was refused", last_answer(quoted)["note"])

    def test_what_must_not_be_kept_is_refused(self) -> None:
        told = remembering(content="Jordan's card is 4111 1111 1111 1111.")
        told.turn(Plugin(), "My card is 4111 1111 1111 1111.")
        self.assertEqual(told.facts, [])

    def test_the_profile_is_set_by_a_patch(self) -> None:
        patch = {"patch": {"name": "Jordan", "plan": "Pro"}}
        told = host().model_calls(("update_profile", patch)).model_says("Hello Jordan!")
        reply = told.turn(Plugin(), UPGRADE)
        self.assertEqual((reply.text, told.emitted), ("Hello Jordan!", "Hello Jordan!"))
        self.assertEqual(told.profile, {"name": "Jordan", "plan": "Pro"})

    def test_the_model_is_reminded_of_what_was_said_in_this_session_only(self) -> None:
        told = host().model_says("Hello!").model_says("Again!").model_says("New!")
        told.turn(Plugin(), "first words")
        told.turn(Plugin(), "second words")
        told.new_session()
        told.turn(Plugin(), "third words")
        said = [[one.content for one in request.messages[1:]] for request in told.requests]
        self.assertEqual(said[1:], [["first words", "Hello!", "second words"], ["third words"]])

    def test_a_model_that_never_ends_is_stopped_and_one_that_is_away_is_told(self) -> None:
        endless = host(max_rounds=2)
        for _ in range(2):
            endless.model_calls(("get_working_memory", {}))
        with self.assertRaisesRegex(KeepsakeError, "max-rounds"):
            endless.turn(Plugin(), "Hello")
        with self.assertRaisesRegex(KeepsakeError, "send the message again"):
            host().turn(Plugin(), "Hello")

    def test_a_setting_that_does_not_fit_is_named(self) -> None:
        for key, value in [
            ("persona", ""),
            ("persona", "a\nb"),
            ("snippet-bytes", 63),
            ("max-rounds", True),
            ("use-sandbox", "yes"),
        ]:
            with self.subTest(key=key, value=value):
                with self.assertRaisesRegex(KeepsakeError, f"`{key}`.*must be"):
                    host(**{key: value}).turn(Plugin(), "Hello")
