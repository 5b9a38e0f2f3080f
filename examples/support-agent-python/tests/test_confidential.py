import json
import unittest

from confidential import kind_of, refuse
from keepsake_sdk import KeepsakeError


class Confidential(unittest.TestCase):
    def test_what_must_not_be_kept_is_told_by_its_shape(self) -> None:
        for text, wanted in [
            ("Jordan's card is 4111 1111 1111 1111.", "a card number"),
            ("4111-1111-1111-1111 12/27", "a card number"),
            ("4111 1111 1111 1111 12 27 123", "a card number"),
            ("on 03 12 it was 4111111111111111", "a card number"),
            ("4111\u00a01111\u00a01111\u00a01111", "a card number"),
            ("+49 151 12345678 4111 1111 1111 1111", "a card number"),
            ("Amex 3782 822463 10005", "a card number"),
            ("Jordan's password is hunter2.", "a password"),
            ('Password: "hunter2"', "a password"),
            ("password:hunter2", "a password"),
            ("the PIN was 1234", "a password"),
            ("CVV 123", "a password"),
            ("api_key = abc", "a password"),
            ("the security code is 737", "a password"),
            ("uses ghp_0123456789abcdefABCDEF", "a key"),
            ("-----BEGIN RSA PRIVATE KEY-----", "a key"),
        ]:
            with self.subTest(text):
                self.assertEqual(kind_of(text), wanted)

    def test_what_only_resembles_it_is_kept(self) -> None:
        for text in [
            "",
            "Jordan's order number is 4111 1111 1111 1112.",
            "Jordan called on the 3rd, case A-1042.",
            "Jordan's phone number is +3782 822463 10005.",
            "The IMEI is 356938035643809.",
            "Jordan's password is not accepted.",
            "Jordan forgot the password.",
            "The shopping is late, and the spin is fast.",
            "Jordan lost a pin 4 of the plug",
            "It came on 2026-12-02 at 10.30, 1 of 3.",
            "task-force sk-8 eyJ",
            "the password:",
        ]:
            with self.subTest(text):
                self.assertIsNone(kind_of(text))

    def test_a_value_is_read_together_with_its_name(self) -> None:
        for value in [
            {"password": "hunter2"},
            {"account": {"api-key": "abc"}},
            {"cards": [4_111_111_111_111_111]},
            {"note": "my pin is 1234"},
            {"pin": 1234},
        ]:
            with self.subTest(json.dumps(value)), self.assertRaises(KeepsakeError):
                refuse(value)
        refuse({"name": "Jordan", "seats": 3, "tags": ["a", None], "pinned": True})
