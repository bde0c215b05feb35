"""The documents name only files, pages, options and variables that exist, have the size of their kind, and fit a window of
120 columns."""
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts/wording"))
import extract  # noqa: E402

DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "SECURITY.md", *DOCS]
INTERNAL = {"CONTRIBUTING.md", "design.md", "wire.md", "testing.md", "simulation.md", "performance.md", "glossary.md"}
SOURCE = re.compile(r"`((?:[\w.-]+/)+[\w.-]+\.(?:h|cpp|py))`")
FOLDERS = ["scripts", "examples", "docs", "src", "include", "tests", "bench", "cmake", "packaging", "python", ".ci"]
# A path from the top folder of the project, in a span or a block: scripts/test, examples/ci/*.py, tests/unit/MODULE/
IN_TREE = re.compile(rf"(?<![\w./~$-])((?:{'|'.join(map(re.escape, FOLDERS))})/[\w./*-]*[\w*/])")
FILE_NAME = re.compile(r"`([\w-]+\.(?:h|cpp|py|sh|md|sbatch|yaml))`")
OTHER_FILES = {"hccl_tools.py", "merge_hccl.py", "kubexec.sh"}  # of MindSpore and of the MPI operator
COLUMNS = 120
# The largest number of lines of a page. The heading in docs/README.md is the kind of the page.
LINES = {
    "Start here": 120,  # a tutorial
    "Run programs": 120,  # how-to pages: one task per page
    "Watch and repair jobs": 120,
    "Migrate from another launcher": 120,
    "Reference": 250,
    "Background": 150,  # explanations
    "For developers": 250,
}
OTHER_LINES = {"README.md": 120, "docs/README.md": 60, "SECURITY.md": 80, "docs/design.md": 200}
LONGER = {  # page: reason
    "docs/options.md": "generated: one row per option",
    "docs/migrate/mpirun.md": "two thirds are rows of the table of options, which a test compares with the grammar",
    "docs/migrate/others.md": "four launchers, each with a how-to part and a table of options",
    "docs/wire.md": "the tables of all frames, which a test compares with the encoder",
}
USER_LINES = 3_999  # of all pages for users, without LONGER
CELL_WORDS = 20  # in a cell of a table for users, without code; the tables of migrate/ and options.md are in the sources
# Options of other programs that the pages show: cmake, examples/train.py and ddp.py, pkg-config, kubectl, gdb, sbatch and
# systemd-run; and an option that does not exist, in an example of an error.
OTHER_OPTIONS = {"install", "prefix", "epochs", "fail-rank", "fail-code", "checkpoint", "cflags", "libs", "from-literal", "pid",
                 "requeue", "scope", "no-such-option"}
# Variables of tests, examples and other programs.
OTHER_VARIABLES = {"GTEST_SKIP", "HANG_LOOPS", "DLAUNCH_SLOW", "PBS_O_WORKDIR", "PMIX_SERVER_URI2", "PMIX_SERVER_URI41",
                   "PARENT_ROOT_PORT_NAME", "PMI_PORT", "UCX_TCP_PUT_ENABLE", "DATA_PATH", "PR_SET_DUMPABLE", "DEVICE1_IP",
                   "DEVICE2_IP", "NCCL_P2P_DISABLE", "PRTE_MCA_KEY"}


def is_there(path):
    return any((root / path).exists() for root in (ROOT, ROOT / "include", ROOT / "src", ROOT / "src/transport", ROOT / "src/cli"))


def is_in_tree(path):
    """A word in capitals stands for any name. A program of the build has the name of its source, or of a folder of tests."""
    pattern = re.sub(r"\b[A-Z]{4,}\b", "*", path.rstrip("/"))
    return any(any(ROOT.glob(name)) for name in (pattern, pattern + ".cpp", pattern.removesuffix("_tests")))


def named(page):
    return str(page.relative_to(ROOT))


def prose(text):
    """(number, line) of the lines outside tables and code."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced and not line.startswith(("|", "    ", "[", "![")):
            yield number, line


def code(text):
    """(number, code) of each `span`, and of each line of a block."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            yield number, line
        else:
            for span in re.findall(r"`([^`]+)`", line):
                yield number, span


def sources(*folders):
    return "\n".join(path.read_text() for folder in folders for path in sorted((ROOT / folder).rglob("*"))
                     if path.suffix in (".cpp", ".h", ".S", ".py"))


def anchors(page):
    """The anchors of a page's headings, as GitHub makes them."""
    found = set()
    for line in page.read_text().splitlines():
        heading = re.match(r"#+ (.*)", line)
        if heading:
            text = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading.group(1)).lower()
            found.add(re.sub(r"[^\w\- ]", "", text).strip().replace(" ", "-"))
    return found


def limits():
    """{page: largest number of lines} of each page."""
    found, most = dict(OTHER_LINES), None
    for line in (ROOT / "docs/README.md").read_text().splitlines():
        most = LINES[line[3:]] if line.startswith("## ") else most
        for target in re.findall(r"^- \[[^\]]+\]\(([^)#\s]+\.md)\)", line):
            found.setdefault(named((ROOT / "docs" / target).resolve()), most)
    return found


def tables(text):
    """(number, line) of the rows of tables."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced and line.startswith("|"):
            yield number, line


def cells(text):
    """(number of the line, text) of each cell of the tables."""
    for number, line in tables(text):
        for cell in re.split(r"(?<!\\)\|", line.strip().strip("|")):
            if not re.fullmatch(r"[\s:-]*", cell):
                yield number, cell.strip()


def words(cell):
    return len(re.sub(r"`[^`]*`", "", cell).split())


def contributing_table(heading):
    """The rows of the table in docs/CONTRIBUTING.md that starts with this heading."""
    text = (ROOT / "docs/CONTRIBUTING.md").read_text()
    return text[text.index(heading):].split("\n\n")[0].splitlines()[2:]


class Docs(unittest.TestCase):
    def test_named_sources_exist(self):
        found = [(named(page), path) for page in PAGES for path in SOURCE.findall(page.read_text())]
        self.assertGreater(len(found), 50)
        self.assertEqual([f"{page}: {path}" for page, path in found if not is_there(path)], [])

    def test_named_files_of_the_project_exist(self):
        found = [(f"{named(page)}:{number}", path) for page in PAGES for number, text in code(page.read_text())
                 for path in IN_TREE.findall(text)]
        self.assertGreater(len(found), 150)
        self.assertEqual([f"{where}: {path}" for where, path in found if not is_in_tree(path)], [])

    def test_named_files_without_a_folder_exist(self):
        names = OTHER_FILES.union(path.name for folder in FOLDERS for path in (ROOT / folder).rglob("*.*"))
        found = [(named(page), name) for page in PAGES for name in FILE_NAME.findall(page.read_text())]
        self.assertGreater(len(found), 15)
        self.assertEqual([f"{page}: {name}" for page, name in found if name not in names], [])

    def test_a_path_of_the_project_is_recognized(self):
        text = "run `scripts/test`, `python3 examples/ci/*.py` and `tests/unit/MODULE/`, not build/release/bench/x or ~/src/x.c"
        self.assertEqual([path for _, line in code(text + "\n\n    build/release/bench/x ~/src/x.c") for path in IN_TREE.findall(line)],
                         ["scripts/test", "examples/ci/*.py", "tests/unit/MODULE/"])
        self.assertTrue(is_in_tree("tests/unit/MODULE/") and is_in_tree("tests/unit/link_tests") and is_in_tree("bench/floor_ssh"))
        self.assertFalse(is_in_tree("scripts/no-such-script"))

    def test_prose_is_wrapped(self):
        long = [f"{named(page)}:{number}" for page in PAGES for number, line in prose(page.read_text()) if len(line) > COLUMNS]
        self.assertEqual(long, [])

    def test_pages_have_the_size_of_their_kind(self):
        lines = {named(page): len(page.read_text().splitlines()) for page in PAGES}
        most = limits()
        self.assertEqual(most.keys(), lines.keys())
        longer = {page for page, count in lines.items() if count > most[page]}
        self.assertEqual(sorted(f"{page}: {lines[page]} lines, limit {most[page]}" for page in longer - LONGER.keys()), [],
                         "move facts to the page of their kind, or split the page")
        self.assertEqual(LONGER.keys() - longer, set(), "remove these pages from LONGER")

    def test_pages_for_users_have_a_size_together(self):
        users = [page for page in PAGES if page.name not in INTERNAL - {"glossary.md"} and named(page) not in LONGER]
        self.assertLessEqual(sum(len(page.read_text().splitlines()) for page in users), USER_LINES,
                             "shorten pages, or raise USER_LINES in a commit that gives the reason")

    def test_cells_of_tables_are_short(self):
        users = [page for page in PAGES if page.name not in INTERNAL - {"glossary.md"}]
        written = [page for page in users if page.parent.name != "migrate" and page.name != "options.md"]
        found = [(f"{named(page)}:{number}", cell) for page in written for number, cell in cells(page.read_text())]
        self.assertGreater(len(found), 1000)
        self.assertEqual([f"{where}: {cell}" for where, cell in found if words(cell) > CELL_WORDS], [],
                         "shorten the cell, or move a sentence below the table")

    def test_words_of_a_cell_are_counted_without_code(self):
        text = "| a `x \\| y` b | c |\n|---|---|\n\n```text\n| no | table |\n```\n"
        self.assertEqual([(number, words(cell)) for number, cell in cells(text)], [(1, 2), (1, 1)])

    def test_links_lead_to_a_page_and_a_heading(self):
        broken, count = [], 0
        for page in PAGES:
            for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```", "", page.read_text(), flags=re.S)):
                if re.match(r"https?:|mailto:", target):
                    continue
                count += 1
                path, _, anchor = target.partition("#")
                other = (page.parent / path).resolve() if path else page
                if not other.exists():
                    broken.append(f"{named(page)}: {target}")
                elif anchor and (other.suffix != ".md" or anchor not in anchors(other)):
                    broken.append(f"{named(page)}: {target}: no such heading")
        self.assertGreater(count, 50)
        self.assertEqual(broken, [])

    def test_named_options_exist(self):
        rows = sources("src/cli", "src/mpirun", "src/grammars", "src/app", "src/ascend", "src/agent", "src/chaos", "src/transport", "src/dialback")
        known = {name.lstrip("!") for names in re.findall(r'\.names = "([^"]+)"', rows) for name in names.split()}
        known |= set(re.findall(r'--([a-zA-Z][\w-]*)', rows)) | set(re.findall(r'"([a-zA-Z][\w-]+)"', rows)) | {"help", "version"}
        unknown = set()
        for page in PAGES:
            if page.name in INTERNAL or page.parent.name == "migrate":  # other tests compare these with the tables
                continue
            for number, text in code(page.read_text()):
                for name in re.findall(r"(?<![\w-])--([a-zA-Z][\w-]*)", text):
                    if name not in known and name.replace("_", "-") not in known and name not in OTHER_OPTIONS:
                        unknown.add(f"{named(page)}:{number}: --{name}")
        self.assertEqual(sorted(unknown), [])

    def test_named_variables_exist(self):
        text = sources("src", "include", "examples", "python", "tests/programs")
        names = {name.upper().replace("-", "_") for row in re.findall(r'\.names = "([^"]+)"', text) for name in row.split()}
        unknown = set()
        for page in PAGES:
            for number, span in code(page.read_text()):
                for name in re.findall(r"(?<![\w<{-])[A-Z][A-Z0-9]*_[A-Z0-9_]*[A-Z0-9](?![\w>}-])", span):
                    default = name.removeprefix("DLAUNCH_")
                    if name not in text and not (name.startswith("DLAUNCH_") and default in names) and name not in OTHER_VARIABLES:
                        unknown.add(f"{named(page)}:{number}: {name}")
        self.assertEqual(sorted(unknown), [])

    def test_index_lists_every_page_once(self):
        index = (ROOT / "docs/README.md").read_text()
        links = [(ROOT / "docs" / target).resolve() for target in re.findall(r"\]\(([^)#\s]+\.md)\)", index)]
        wanted = [page.resolve() for page in [*DOCS, ROOT / "SECURITY.md"] if page.name != "README.md"]
        self.assertEqual([named(page) for page in wanted if links.count(page) != 1], [])

    def test_readme_is_short(self):
        text = (ROOT / "README.md").read_text()
        rows = [line for line in text.splitlines() if line.startswith("|") and not re.fullmatch(r"[|\s:-]+", line)]
        pages = set(re.findall(r"\]\(([^)#\s]+)", text))
        self.assertLessEqual(len(text.splitlines()), 120)
        self.assertLessEqual(len(rows) - 1, 15)
        self.assertLessEqual(len(pages), 20)

    def test_messages_page_has_the_texts_of_the_program(self):
        """Each `message` heading of docs/messages.md is a string of the sources; … stands for a value."""
        page = (ROOT / "docs/messages.md").read_text()
        shown = re.findall(r"^### `(.+)`$|^\| `([^`]+)` \|", page, re.M)
        shown = [first or second for first, second in shown]
        self.assertGreaterEqual(len(shown), 60)
        literals = "\n".join(block.text for path in sorted((ROOT / "src").rglob("*.cpp")) + sorted((ROOT / "src").rglob("*.h"))
                             for block in extract.blocks(str(path), path.read_text())[0] if block.kind == "message")
        raw = sources("src")
        missing = []
        for message in shown:
            parts = [part.strip(' :"') for part in re.split(r"…|\.\.\.", message)]
            if not all(part in literals or part in raw for part in parts if len(part) > 3):
                missing.append(message)
        self.assertEqual(missing, [])

    def test_slurm_script_is_the_tested_one(self):
        script = (ROOT / "examples/requeue/requeue.sbatch").read_text().splitlines(keepends=True)
        shown = "".join(f"    {line}" for line in script if not line.startswith("# "))
        self.assertIn(shown, (ROOT / "docs/preemption.md").read_text())

    def test_files_that_a_newcomer_asks_for_exist(self):
        table = contributing_table("| a newcomer asks |")
        self.assertGreaterEqual(len(table), 6)
        for row in table:
            files = re.findall(r"`([\w/.-]+)`", row.split("|")[2])
            self.assertTrue(files, row)
            for file in files:
                self.assertTrue((ROOT / file).exists(), f"{row}: {file}: not found")

    def test_answers_to_newcomers_are_short_and_name_files_with_their_contents(self):
        table = contributing_table("| question | answer |")
        self.assertGreaterEqual(len(table), 20)
        for row in table:
            answer = row.split("|")[2]
            self.assertLessEqual(len(answer.split()), 20, row)
            spans = re.findall(r"`([^`]+)`", answer)
            files = [ROOT / span for span in spans if "/" in span]
            self.assertTrue(files, row)
            self.assertEqual([str(file) for file in files if not file.is_file()], [], row)
            texts = "\n".join(file.read_text() for file in files)
            names = [span for span in spans if "/" not in span]
            self.assertEqual([name for name in names if not re.search(rf"\b{re.escape(name)}\b", texts)], [], row)


if __name__ == "__main__":
    unittest.main(verbosity=2)
