"""Every test that tests/SECURITY.md names exists in the file that the row names."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).parents[2]
HOSTILE = "tests/e2e/test_hostile.py"


def is_test(name, text):
    """A function, a row of ACTS (test_board is "board"), a class, or an instance of a C++ test suite."""
    act = name.removeprefix("test_")
    return re.search(rf'\bdef {name}\(|^    "{act}": |^class {name}\(|_SUITE_P\({name},', text, re.MULTILINE)


class SecurityTests(unittest.TestCase):
    def test_each_named_test_exists(self):
        rows = [line for line in (ROOT / "tests/SECURITY.md").read_text().splitlines() if line.startswith("| ")]
        checked = 0
        for row in rows:
            test_cell = row.split("|")[2]
            for test, path in re.findall(r"`(test_\w+|[A-Z]\w+)`(?: in `([\w/.]+)`)?", test_cell):
                self.assertTrue(is_test(test, (ROOT / (path or HOSTILE)).read_text()), f"{row}: missing {test}")
                checked += 1
            for path in re.findall(r"`(tests/[\w/.]+)`", test_cell):
                self.assertTrue((ROOT / path).exists(), f"{row}: missing {path}")
        self.assertGreater(checked, 25)


if __name__ == "__main__":
    unittest.main(verbosity=2)
