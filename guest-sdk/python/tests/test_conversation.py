import unittest

from keepsake_sdk import SUMMARY_BYTES, Agent, Conversation, KeepsakeError
from keepsake_sdk.testing import Host

ROOM = 2000


class Parrot(Agent):
    name = "parrot"
    version = "0.1.0"
    summary = "Repeats what it hears."

    def __init__(self):
        self.turns = []

    def handle(self, session, message):
        self.turns.append(session.info().turn)
        session.conversation(ROOM)
        if message == "fail":
            raise KeepsakeError.invalid("as you wish")
        return f"You said: {message}"


def reminded(host):
    return host.session().conversation(ROOM)


def talk(host, turns):
    for number in range(turns):
        host.turn(Parrot(), f"{'long ' * 20} (no. {number})")


class Conversations(unittest.TestCase):
    def test_what_fits_is_told_word_for_word_and_turns_that_failed_are_not(self):
        host = Host()
        self.assertEqual(reminded(host), Conversation())
        host.turn(Parrot(), "Hello")
        with self.assertRaises(KeepsakeError):
            host.turn(Parrot(), "fail")
        host.turn(Parrot(), "And?")
        conversation = reminded(host)
        self.assertEqual(
            [message.content for message in conversation.messages()],
            ["Hello", "You said: Hello", "And?", "You said: And?"],
        )
        self.assertEqual([exchange.turn for exchange in conversation.exchanges], [0, 2])
        self.assertIsNone(conversation.summary)
        self.assertEqual(host.requests, [])
        host.new_session()
        self.assertEqual(reminded(host), Conversation())

    def test_older_turns_are_summed_up_once_in_a_while_and_none_is_lost(self):
        host = Host()
        for number in range(12):
            host.model_says(f"Summary {number}.")
        talk(host, 30)
        conversation = reminded(host)
        asked = [request.messages[1].content for request in host.requests]
        self.assertTrue(1 < len(asked) < 12, len(asked))
        self.assertTrue(asked[1].startswith("What came before, in short: Summary 0."), asked[1])
        there = [exchange.message for exchange in conversation.exchanges]
        for number in range(30):
            told = f"(no. {number})"
            self.assertTrue(any(told in text for text in asked + there), f"{told} is lost")
        self.assertRegex(conversation.summary, r"^Summary \d+\.$")
        size = sum(len(one.message) + len(one.reply) for one in conversation.exchanges)
        self.assertLessEqual(size, ROOM)

    def test_a_model_that_does_not_sum_up_or_is_away_leaves_the_beginnings(self):
        quoting = Host().model_is(extras={"summarises": False})
        for host in (quoting, Host()):
            talk(host, 12)
            conversation = reminded(host)
            self.assertLessEqual(len(conversation.summary), min(SUMMARY_BYTES, ROOM // 4))
            self.assertIn("Customer: long long", conversation.summary)
            self.assertIn("(no. 11)", conversation.exchanges[-1].message)
        self.assertEqual(quoting.requests, [])

    def test_a_very_long_message_is_cut_and_leaves_room_for_others(self):
        host = Host()
        host.turn(Parrot(), "ä" * 100_000)
        host.turn(Parrot(), "short")
        exchanges = reminded(host).exchanges
        self.assertEqual(len(exchanges), 2)
        self.assertLess(len(exchanges[0].message), ROOM / 2)

    def test_a_summary_that_another_wrote_in_its_place_is_passed_over(self):
        host = Host()
        host.turn(Parrot(), "Hello")
        scope = host.session().scope()
        for value in ("mine", {"through": "all"}, 7):
            scope.set(f"_conversation/{host.session().info().session}", value)
            self.assertEqual(len(reminded(host).exchanges), 1)

    def test_turns_are_counted_from_0_as_the_host_counts_them(self):
        host, parrot = Host(), Parrot()
        host.turn(parrot, "a")
        host.turn(parrot, "b")
        self.assertEqual(parrot.turns, [0, 1])
