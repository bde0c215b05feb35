"""The messages of the sources have one form per kind of error, and each hint starts with a verb."""
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts/wording"))
import extract  # noqa: E402

SOURCES = sorted((ROOT / "src").rglob("*.cpp")) + sorted((ROOT / "src").rglob("*.h"))
HINT_VERBS = "add check give install put quote remove run set start use wait write".split()
# (kind, the form to use, other forms that are not allowed)
FORMS = [
    ("unknown", 'unknown KIND "VALUE"', r"\bis no (?!longer)|\bno such\b|\bthere is no \"|\bis none of\b|\bis not one of\b"),
    ("missing", "missing WHAT", r"\bnames none\b|\bnames nothing\b|\bwas not (said|named|given)\b|\bneeds a value\b|\bwants a\b"),
    ("invalid", 'invalid KIND "VALUE": expected WHAT', r"\bdoes not fit\b|\bcannot be (had|meant)\b|\bis not a number\b|\bis malformed\b"),
    ("conflict", "A conflicts with B: REASON", r"\bdoes not go with\b|\bmutually exclusive\b|\bcontradicts\b"),
    ("duplicate", 'duplicate KIND "VALUE"', r"\bstands twice\b|\bis (given|named|said) twice\b|: repeated\b"),
    ("timed out", "timed out after N s", r"\btime is out\b|\btime out after\b|\bin time\b.*\bno answer\b"),
    ("connect", "cannot connect to X: REASON", r"\bcould not connect\b|\bconnection to .* failed\b"),
]


def messages():
    for path in SOURCES:
        for block in extract.blocks(str(path), path.read_text())[0]:
            if block.kind == "message":
                yield f"{path.relative_to(ROOT)}:{block.first}: {block.text}"


class Messages(unittest.TestCase):
    def test_each_kind_of_error_has_one_form(self):
        texts = list(messages())
        self.assertGreater(len(texts), 1000)
        for kind, form, others in FORMS:
            pattern = re.compile(others)
            with self.subTest(kind, form=form):
                self.assertEqual([text for text in texts if pattern.search(text)], [])

    def test_hints_start_with_a_verb(self):
        hints = [(path, hint) for path in SOURCES for hint in re.findall(r'\.hint =\s*"([^"]+)"', path.read_text())]
        self.assertGreater(len(hints), 100)
        wrong = [f"{path.relative_to(ROOT)}: {hint}" for path, hint in hints if hint.split(" ")[0] not in HINT_VERBS]
        self.assertEqual(wrong, [])

    def test_options_in_messages_exist(self):
        rows = "\n".join(path.read_text() for path in SOURCES)
        known = {name.lstrip("!") for names in re.findall(r'\.names = "([^"]+)"', rows) for name in names.split()} | {"help"}
        launchers = "\n".join(path.read_text() for path in SOURCES if path.parent.parent.name == "grammars" or path.parent.name in ("place", "transport", "ssh", "dialback"))
        unknown = []
        for text in messages():
            path = text.split(":")[0]
            for name in re.findall(r"(?<![\w-])--([a-z][\w-]+)", text):
                if name not in known and f"--{name}" not in launchers and f'"{name}' not in rows:
                    unknown.append(f"{path}: --{name}")
        self.assertEqual(unknown, [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
