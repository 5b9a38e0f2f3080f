import unittest

from keepsake_sdk.testing import Host
from plugin import Plugin


class Remembering(unittest.TestCase):
    def test_what_was_told_in_one_session_is_known_in_the_next(self) -> None:
        host = Host()
        host.turn(Plugin(), "My cat is called Miso.")
        host.new_session()
        reply = host.turn(Plugin(), "What is my cat called?")
        self.assertEqual(reply.text, "You told me: My cat is called Miso.")

    def test_what_was_not_told_is_not_made_up(self) -> None:
        reply = Host().turn(Plugin(), "What is my dog called?")
        self.assertEqual(reply.text, "You have not told me.")
