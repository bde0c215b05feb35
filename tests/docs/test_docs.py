"""The documents name only files that exist, and fit a window of 120 columns."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").glob("*.md"))]
SOURCE = re.compile(r"`((?:[\w.-]+/)+[\w.-]+\.(?:h|cpp|py))`")
COLUMNS = 120


def is_there(path):
    return any((root / path).exists() for root in (ROOT, ROOT / "include", ROOT / "src", ROOT / "src/transport", ROOT / "src/cli"))


def prose(text):
    """(number, line) of what is neither a table nor shown as it is printed."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced and not line.startswith(("|", "    ", "[", "![")):
            yield number, line


class Docs(unittest.TestCase):
    def test_the_sources_that_they_name_are_there(self):
        named = [(page.name, path) for page in PAGES for path in SOURCE.findall(page.read_text())]
        self.assertGreater(len(named), 50)
        self.assertEqual([f"{page}: {path}" for page, path in named if not is_there(path)], [])

    def test_prose_is_wrapped(self):
        long = [f"{page.name}:{number}" for page in PAGES for number, line in prose(page.read_text()) if len(line) > COLUMNS]
        self.assertEqual(long, [])

    def test_the_script_for_slurm_is_the_one_that_is_tested(self):
        script = (ROOT / "examples/requeue/requeue.sbatch").read_text().splitlines(keepends=True)
        shown = "".join(f"    {line}" for line in script if not line.startswith("# "))
        self.assertIn(shown, (ROOT / "docs/preemption.md").read_text())

    def test_each_question_of_a_newcomer_has_a_file(self):
        text = (ROOT / "docs/CONTRIBUTING.md").read_text()
        table = text[text.index("| a newcomer asks |"):].split("\n\n")[0].splitlines()[2:]
        self.assertGreaterEqual(len(table), 6)
        for row in table:
            files = re.findall(r"`([\w/.-]+)`", row.split("|")[2])
            self.assertTrue(files, row)
            for file in files:
                self.assertTrue((ROOT / file).exists(), f"{row}: {file} is not there")


if __name__ == "__main__":
    unittest.main(verbosity=2)
