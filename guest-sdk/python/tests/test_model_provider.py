import unittest

from keepsake_sdk import (
    AnswerEnd,
    KeepsakeError,
    ModelProvider,
    ToolCall,
    ToolCallPiece,
    Usage,
    user,
)
from keepsake_sdk.session import ModelInfo
from keepsake_sdk.testing import Host


def ask(chat):
    class Provider(ModelProvider):
        def info(self, context):
            return ModelInfo("m")

        def chat(self, context, question):
            return chat(question)

    return Host().chat(Provider(), [user("Hi")])


class ModelProviders(unittest.TestCase):
    def test_a_text_is_a_whole_answer(self):
        answer, pieces = ask(lambda question: "Hello")
        self.assertEqual((answer.message.content, pieces), ("Hello", ["Hello"]))
        self.assertEqual((answer.finish_reason, answer.usage, answer.model), ("stop", None, "m"))

    def test_a_generator_gives_pieces_and_at_last_how_it_ended(self):
        def chat(question):
            yield f"{question.messages[0].content}, "
            yield "you"
            return AnswerEnd("length", Usage(1, 2), "other")

        answer, pieces = ask(chat)
        self.assertEqual((answer.message.content, pieces), ("Hi, you", ["Hi, ", "you"]))
        self.assertEqual(answer.finish_reason, "length")
        self.assertEqual((answer.usage, answer.model), (Usage(1, 2), "other"))

    def test_tool_calls_may_come_in_pieces_several_at_once(self):
        def chat(question):
            yield ToolCallPiece(0, "a", "one", '{"x"')
            yield ToolCallPiece(1, "b", "two")
            yield ToolCallPiece(0, arguments=":1}")

        answer, _ = ask(chat)
        self.assertEqual(answer.finish_reason, "tool-calls")
        self.assertEqual(
            answer.message.tool_calls, [ToolCall("a", "one", '{"x":1}'), ToolCall("b", "two", "")]
        )

    def test_a_question_that_is_refused_is_refused_at_once_by_a_generator_too(self):
        def chat(question):
            if question.messages:
                raise KeepsakeError.invalid("no messages")
            yield ""

        with self.assertRaises(KeepsakeError):
            ask(chat)

    def test_what_is_no_answer_is_a_fault_of_the_provider(self):
        def number(question):
            yield 7

        def nameless(question):
            yield ToolCallPiece(0)

        def ended(question):
            yield "x"
            return "stop"

        for chat, said in [
            (lambda question: 7, "answers with a text"),
            (number, "a piece of an answer is a text"),
            (nameless, "has an `id` and a `name`"),
            (ended, "returns an AnswerEnd"),
        ]:
            with self.subTest(said), self.assertRaisesRegex(TypeError, said):
                ask(chat)
