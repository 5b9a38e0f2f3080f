import unittest

from keepsake_sdk import cosine
from plugin import embed


class Vectors(unittest.TestCase):
    def test_texts_that_are_spelled_alike_are_near(self) -> None:
        one, alike, other = map(embed, ["parcel delivery", "Parcels delivered", "green tea"])
        self.assertGreater(cosine(one, alike), 0.5)
        self.assertLess(cosine(one, other), 0.2)

    def test_each_vector_has_length_1_or_holds_nothing(self) -> None:
        self.assertAlmostEqual(cosine(embed("tea"), embed("tea")), 1.0)
        self.assertEqual(embed("?!"), [0.0] * 256)
