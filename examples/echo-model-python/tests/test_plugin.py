import unittest

from keepsake_sdk import KeepsakeError, Question, Usage, system, user
from keepsake_sdk.testing import Host
from plugin import Plugin


class Echo(unittest.TestCase):
    def test_the_last_message_of_the_user_is_said_back_up_to_the_bound(self) -> None:
        messages = [user("Hello!"), user("Where is my order?")]
        whole, _ = Host().chat(Plugin(), messages)
        self.assertEqual(whole.message.content, "You said: Where is my order?")
        self.assertEqual(whole.usage, Usage(5, 6))
        cut, _ = Host().chat(Plugin(), Question(messages, max_tokens=3))
        self.assertEqual((cut.message.content, cut.finish_reason), ("You said: Where ", "length"))

    def test_a_conversation_without_a_user_is_refused(self) -> None:
        with self.assertRaisesRegex(KeepsakeError, "no message of a user"):
            Host().chat(Plugin(), [system("Be kind.")])
