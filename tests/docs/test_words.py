"""scripts/words finds unclear sentences, names the line, and compares with its limits."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts/wording"))
import extract  # noqa: E402
import rules  # noqa: E402

# (rule, unclear, clear): real sentences of this project, before and after.
PAIRS = [
    ("told", "What became of the others is told at the end.", "The summary reports the other ranks."),
    ("where-if", "Where the socket cannot be made, the launcher goes on.", "The launcher continues if the socket cannot be created."),
    ("no-noun", "The word is no option of torchrun.", "The word is not an option of torchrun."),
    ("no-noun", "A host that has none is left out.", "A host without a slot is left out."),
    ("riddle", "Whoever may read that disk can be an agent of this job.", "A user who can read the shared disk can impersonate an agent."),
    ("what-clause", "What the rank prints goes to the console.", "The launcher prints a rank's output on the console."),
    ("odd-verb", "The option stands before the first program.", "The option precedes the first program."),
    ("old-word", "The next round begins the silence anew.", "The next round resets the timer."),
    ("of-its-own", "Each rank has a directory of its own.", "Each rank has its own directory."),
    ("so-many", "Connect to at most so many hosts at a time.", "Connect to at most N hosts at a time."),
    ("is-to", "The rank is to save its state first.", "The rank must save its state first."),
    ("inverted", "Of a line the first 4 KiB are read.", "dlaunch reads the first 4 KiB of each line."),
    ("a-host-a-line", "The file lists one host a line.", "The file lists one host per line."),
    ("bare-possessive", "The other options are the launcher's.", "The other options belong to the launcher."),
    ("private-word", "The last words of the rank are shown.", "The last stderr lines of the rank are shown."),
    ("nothing-but", "The agent reads nothing but frames.", "The agent reads only frames."),
    ("vague", "It is what those that have none of it say of which one it was.", "The summary names the first rank that failed."),
    ("long", "The launcher " + "waits for the agent and " * 10 + "stops.", "The launcher waits for the agent."),
]


def broken(sentence, kind="doc"):
    return [name for name, _ in rules.check(kind, sentence)]


class Rules(unittest.TestCase):
    def test_unclear_sentences_are_found(self):
        for rule, unclear, _ in PAIRS:
            self.assertIn(rule, broken(unclear), unclear)

    def test_clear_sentences_pass(self):
        for _, _, clear in PAIRS:
            self.assertEqual(broken(clear), [], clear)

    def test_every_rule_has_a_pair(self):
        self.assertEqual({name for name, *_ in rules.RULES} - {rule for rule, *_ in PAIRS}, set())

    def test_messages_have_a_lower_word_limit_than_docs(self):
        sentence = "Word " * 32
        self.assertEqual((broken(sentence, "doc"), broken(sentence, "message")), ([], ["long"]))

    def test_code_in_backquotes_is_not_checked(self):
        self.assertEqual(broken("The option `is no number` of this table is a literal."), [])

    def test_commit_subjects_need_a_verb_a_length_and_a_body(self):
        def names(*message):
            return [rule for rule, _ in rules.check_commit(*message)]
        self.assertEqual(names("Fix a deadlock when a helper writes 64 KiB to stderr", "The pipe was full."), [])
        self.assertEqual(names("Say what happens", ""), ["commit-verb", "commit-body"])
        self.assertEqual(names("Fix " + "x" * 69, "Reason."), ["commit-long"])

    def test_test_names_need_a_subject(self):
        for line in ("def test_" "who_outruns_every_signal(self):", "TEST" "(SpawnReader, WhatIsNoSpawnIsAnError) {"):
            self.assertTrue(rules.TEST_NAME.search(line), line)
        for line in ("def test_cgroup_kill_stops_a_fork_loop(self):", "TEST(SpawnReader, RejectsMalformedSpawnRequest) {"):
            self.assertFalse(rules.TEST_NAME.search(line), line)


def texts(path, text):
    return [(block.first, block.kind, block.text) for block in extract.blocks(path, text)[0]]


class Extraction(unittest.TestCase):
    def test_markdown_gives_paragraphs_cells_and_headings_without_code(self):
        page = "# The title\n\nOne line\nand the next.\n\n```\ncode is left out\n```\n| a cell | `code` |\n|---|---|\n- an item\n"
        self.assertEqual(texts("a.md", page), [(1, "heading", "The title"), (3, "doc", "One line and the next."),
                                               (9, "cell", "a cell"), (9, "cell", "`code`"), (11, "doc", "an item")])

    def test_cpp_gives_comments_and_messages(self):
        code = '// A comment of\n// two lines.\nint a = 1;  ///< the first\nfail("cannot open the file " + name + ": try again");\n'
        self.assertEqual(texts("a.cpp", code), [(1, "comment", "A comment of two lines."), (3, "comment", "the first"),
                                                (4, "message", "cannot open the file {}: try again")])

    def test_adjacent_literals_are_one_message(self):
        self.assertEqual(texts("a.cpp", 'say("the host did "\n    "not answer");\n'), [(1, "message", "the host did not answer")])

    def test_shell_gives_comments_and_messages(self):
        text = '#!/bin/sh\n# Builds the tree.\ndie "the package list is missing" "run apt-get update"\n'
        self.assertEqual(texts("run", text), [(2, "comment", "Builds the tree."), (3, "message", "the package list is missing"),
                                              (3, "message", "run apt-get update")])

    def test_words_ok_with_a_reason_exempts_a_comment(self):
        self.assertEqual(extract.blocks("a.cpp", "// words:ok: quotes PMI\n// What is no spawn is an error.\n"), ([], []))
        self.assertEqual(extract.blocks("a.md", "<!-- words:ok: a quotation -->\nWhat is no spawn.\n"), ([], []))

    def test_words_ok_without_a_reason_is_a_finding(self):
        self.assertEqual(extract.blocks("a.cpp", "// words:ok\n")[1], [1])


class CommandLine(unittest.TestCase):
    """A small repository with scripts/words in it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "scripts").mkdir()
        shutil.copy(ROOT / "scripts/words", self.root / "scripts/words")
        shutil.copytree(ROOT / "scripts/wording", self.root / "scripts/wording", ignore=shutil.ignore_patterns("__pycache__", "limits"))
        for name in ("docs", "include", "src", "tests", "bench", "examples"):
            (self.root / name).mkdir()
        (self.root / "SECURITY.md").write_text("The agent runs as the user.\n")
        (self.root / "README.md").write_text("dlaunch starts ranks on hosts.\nThe launcher prints their output.\n")
        self.git("init", "-q", "-b", "main")
        self.commit("Add a start", "The first commit.")
        self.since = self.git("rev-parse", "HEAD").strip()
        self.limits("since %s" % self.since)

    def git(self, *words):
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
        return subprocess.run(["git", *identity, *words], cwd=self.root, check=True, capture_output=True, text=True).stdout

    def commit(self, *message):
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", *sum((["-m", part] for part in message), []))

    def limits(self, text):
        (self.root / "scripts/wording/limits").write_text(text + "\n")

    def words(self, *args):
        done = subprocess.run([self.root / "scripts/words", *args], cwd=self.root, capture_output=True, text=True)
        self.assertEqual(done.stderr if done.returncode != 2 else "", "")
        return done.returncode, done.stdout

    def test_finding_names_file_line_rule_and_advice(self):
        (self.root / "README.md").write_text("dlaunch starts ranks.\n\nNobody reads what is told.\n")
        code, out = self.words("--advice", "README.md")
        self.assertEqual(code, 1)
        self.assertIn("README.md:3: riddle+told: Nobody reads what is told.\n    write instead: name the thing", out)
        self.assertEqual(self.words("docs"), (0, ""))

    def test_check_passes_without_findings(self):
        self.assertEqual(self.words("--check"), (0, ""))

    def test_check_fails_above_and_below_the_limit(self):
        self.limits("since %s\ndocs 1" % self.since)
        code, out = self.words("--check")
        self.assertEqual((code, out), (1, "words: docs has 0 findings, its limit is 1: run scripts/words --lower\n"))
        self.assertEqual(self.words("--lower")[0], 0)
        self.assertEqual(self.words("--check"), (0, ""))
        (self.root / "docs/a.md").write_text("Nobody reads this page.\n")
        code, out = self.words("--check")
        self.assertEqual(code, 1)
        self.assertIn("words: docs has 1 findings, 0 are allowed", out)

    def test_check_fails_for_a_finding_in_a_changed_line_within_the_limit(self):
        (self.root / "docs/a.md").write_text("Nobody reads this page.\n")
        self.commit("Add a page", "It is needed.")
        self.limits("since %s\ndocs 1" % self.git("rev-parse", "HEAD").strip())
        self.assertEqual(self.words("--check"), (0, ""))
        (self.root / "docs/a.md").write_text("Nobody reads this long page.\n")
        code, out = self.words("--check")
        self.assertEqual(code, 1)
        self.assertIn("words: a changed line:\ndocs/a.md:1: riddle: Nobody reads this long page.", out)

    def test_check_fails_for_an_unclear_commit(self):
        self.commit("Say it")
        code, out = self.words("--check")
        self.assertEqual(code, 1)
        self.assertIn("commit-verb: Say it", out)
        self.assertIn("commit-body: Say it", out)

    def test_check_fails_for_too_many_pronouns(self):
        (self.root / "docs/a.md").write_text("The host which starts it sends that.\n")
        self.limits("since %s\npronouns docs 2.7" % self.since)
        code, out = self.words("--check")
        self.assertEqual(code, 1)
        self.assertIn("words: 42.86 % of the words in docs are pronouns, at most 2.7 %", out)

    def test_unknown_commit_is_reported(self):
        self.limits("since 0123456789")
        self.assertEqual(self.words("--check"), (0, "words: commit 0123456789: not found: changed lines and commits were not checked\n"))

    def test_unknown_option_exits_with_2(self):
        self.assertEqual(self.words("--nosuch")[0], 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
