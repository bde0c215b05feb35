"""tests/e2e/README.md has the rows of the decorators of the end-to-end tests. An unknown word in a decorator is an error.
"""
import importlib.util
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import promises  # noqa: E402
from promises import ENDS, RUN, SSH, promise  # noqa: E402


class Index(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rows = promises.index(promises.load())

    def test_page_has_the_rows_of_the_decorators(self):
        page = promises.PAGE.read_text(encoding="utf-8")
        self.assertTrue(page == promises.page(self.rows), "the page is old: run python3 -B tests/e2e/promises.py --write")

    def test_each_word_is_used(self):
        used = {word for row in self.rows for word in row[:3]}
        words = [*promises.PROMISES, *promises.PLACES, *promises.MODES]
        self.assertEqual([word.title for word in words if word not in used], [])


class Words(unittest.TestCase):
    def test_unknown_and_missing_words_are_rejected(self):
        for promised, options in (([], {"mode": RUN}), ([RUN], {"mode": RUN}), (["ends"], {"mode": RUN}), ([ENDS], {"mode": SSH}),
                                  ([ENDS], {"mode": ()}), ([ENDS], {"mode": RUN, "place": "ssh"}), ([ENDS], {"mode": RUN, "place": RUN})):
            with self.subTest(promised=promised, **options), self.assertRaises(TypeError):
                promise(*promised, **options)

    def test_decorators_add_up(self):
        def test():
            pass

        decorated = promise(ENDS, mode=RUN)(promise(ENDS, mode=RUN, place=SSH)(test))
        self.assertIs(decorated, test)
        self.assertEqual([held.places for held in test.holds], [None, (SSH,)])


if __name__ == "__main__":
    if not importlib.util.find_spec("yaml"):
        print("skipped: a test imports yaml: scripts/install-packages test", file=sys.stderr)
        sys.exit(77)
    unittest.main(warnings="ignore")  # of the imported tests
