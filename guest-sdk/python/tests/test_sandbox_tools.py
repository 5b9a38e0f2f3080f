import json
import unittest

from keepsake_sdk import memory_tools, run_agent_loop, sandbox_tools, user
from keepsake_sdk.agent_loop import TOOL_ANSWER_BYTES
from keepsake_sdk.testing import Host


def call(host, name, given):
    host.model_calls((name, given)).model_says("done")
    tools = memory_tools() + sandbox_tools()
    outcome = run_agent_loop(host.session(), [user("go on")], tools)
    content = [message.content for message in outcome.messages if message.role == "tool"][-1]
    assert len(content.encode()) <= TOOL_ANSWER_BYTES
    return json.loads(content)


def working():
    return Host().commands(lambda line: "")


class SandboxTools(unittest.TestCase):
    def test_a_file_that_was_written_is_read_back(self):
        host = working()
        written = {"path": "notes/a.txt", "content": "one\ntwo"}
        self.assertEqual(call(host, "write_file", written), {"bytes": 7})
        read = {"path": "notes/a.txt", "from_line": 2}
        self.assertEqual(call(host, "read_file", read), {"content": "two", "lines": 2})
        missing = call(host, "read_file", {"path": "notes/b.txt"})
        self.assertEqual(missing["error"]["code"], "not-found")
        past = call(host, "read_file", {"path": "notes/a.txt", "from_line": 3})
        self.assertIn("2 lines, and no line 3", past["error"]["message"])

    def test_a_long_file_is_read_by_pages_and_no_line_is_lost(self):
        host = working()
        text = "".join(f"line {number}\n" for number in range(5000))
        host.session().sandbox().write_file("long", text)
        read, start, pages = "", 1, 0
        while start is not None:
            answer = call(host, "read_file", {"path": "long", "from_line": start})
            read, start, pages = read + answer["content"], answer.get("next_line"), pages + 1
        self.assertEqual(read, text)
        self.assertGreater(pages, 1)

    def test_a_line_that_is_too_long_is_cut_and_the_next_one_can_be_read(self):
        host = working()
        host.session().sandbox().write_file("long", '"' * 100_000 + "\nsecond")
        answer = call(host, "read_file", {"path": "long"})
        self.assertIn("bytes are left out", answer["content"])
        rest = call(host, "read_file", {"path": "long", "from_line": answer["next_line"]})
        self.assertEqual(rest, {"content": "second", "lines": 2})

    def test_what_a_command_printed_makes_a_fact_verified(self):
        host = Host().commands(lambda line: (3, "plan: Pro\n", "a\x1b[31mb"))
        ran = call(host, "run_command", {"command": "cat plan"})
        self.assertEqual((ran["exit_code"], ran["stderr"]), (3, "a\ufffd[31mb"))
        fact = {"content": "Jordan is on Pro.", "source": ran["entry"], "quote": "plan: Pro"}
        self.assertTrue(call(host, "remember_fact", fact)["fact"]["verified"])

    def test_a_long_output_keeps_its_beginning_and_its_end(self):
        host = Host().commands(lambda line: "first\n" + "é" * 50_000 + "\nlast")
        stdout = call(host, "run_command", {"command": "x"})["stdout"]
        self.assertTrue(stdout.startswith("first\n") and stdout.endswith("\nlast"))
        self.assertIn("bytes are left out here", stdout)

    def test_without_a_sandbox_the_model_is_told(self):
        answer = call(Host(), "run_command", {"command": "true"})
        self.assertEqual(answer["error"]["code"], "unavailable")
