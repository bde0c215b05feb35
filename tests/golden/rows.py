"""Reads and writes the files of tests/golden/table, and runs their rows. README.md describes the format."""
import dataclasses
import os
import pathlib
import re
import shlex
import subprocess

DRY = {"DLAUNCH_DRY_RUN": "1", "DLAUNCH_FAKE_DEVICES": "0"}  # no real device of the machine counts
LAUNCHERS = ("torchrun", "deepspeed", "horovodrun", "msrun", "srun", "mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun",
             "accelerate", "accelerate-launch")
PROGRAMS = ("train.sh", "eval.sh", "python3", "python")
LIMIT = 30  # seconds for one row
UNEXPECTED = 97  # exit code for words without an answer
# A program of a rank would leave this file.
PROGRAM = '#!/bin/sh\n: >"${0%/*}/a-rank-ran"\n'
OF_RANK = ("RANK_ID RANK_SIZE DEVICE_ID DLAUNCH_JOB_ID DLAUNCH_RANK DLAUNCH_SIZE DLAUNCH_LOCAL_RANK DLAUNCH_LOCAL_SIZE DLAUNCH_NODE_RANK "
           "DLAUNCH_NUM_NODES DLAUNCH_HOST DLAUNCH_DEVICE PMI_RANK MPI_LOCALRANKID MPI_LOCALNRANKS").split()
OF_JOB = "PYTHONUNBUFFERED PYTHONFAULTHANDLER PWD PMI_FD PMI_SIZE".split()


class Malformed(Exception):
    """A block that does not follow the format."""


@dataclasses.dataclass
class Row:
    """A block of a file: the input, and the expected result as lines of the file."""
    file: str
    title: str
    head: list  # the lines of the file before the result
    env: dict = dataclasses.field(default_factory=dict)
    files: list = dataclasses.field(default_factory=list)  # (name, mode, text)
    answers: list = dataclasses.field(default_factory=list)  # (program, pattern of the words, exit code, text)
    only: str = ""  # a pattern: other lines of the output are not recorded
    line: str = ""
    expected: list = dataclasses.field(default_factory=list)

    @property
    def key(self):
        return tuple(sorted(self.env.items())), tuple(self.files), tuple(self.answers), self.line, self.only


def read_file(path):
    """Returns the introduction of the file and its rows."""
    introduction, rows, lines = [], [], path.read_text(encoding="utf-8").split("\n")
    for number, line in enumerate(lines, 1):
        try:
            if line.startswith("## ") and not rows:
                introduction.append(line)
            elif line.startswith("# "):
                rows.append(Row(path.name, line[2:], [line]))
            elif rows:
                read_line(rows[-1], line)
            elif line:
                raise Malformed("text before the first row")
        except (Malformed, ValueError, IndexError) as error:
            raise Malformed(f"{path}:{number}: {error}: {line}") from error
    for row in rows:
        while row.expected and not row.expected[-1]:
            row.expected.pop()
        if not row.line:
            raise Malformed(f"{path}: the row \"{row.title}\" has no command line")
    return introduction, rows


def read_line(row, line):
    """Adds a line of the file to the row."""
    if row.line:
        if line and not line.startswith(("  ", "! ", "!", "exit ", "asks ")):
            raise Malformed("neither a result nor the title of a row")
        row.expected.append(line.rstrip())
        return
    if not line:
        raise Malformed("empty line before the command line")
    row.head.append(line)
    if line.startswith("$ "):
        row.line = line[2:]
        words_of(row.line)
    elif line.startswith("env "):
        for word in shlex.split(line[4:]):
            name, equals, value = word.partition("=")
            if not equals or name in row.env:
                raise Malformed("invalid or repeated variable")
            row.env[name] = value
    elif line.startswith("file "):
        words = line[5:].split()
        row.files.append((words[0], int(words[1], 8) if len(words) > 1 else 0o644, ""))
    elif line.startswith("only "):
        row.only = line[5:]
    elif line.startswith("answer "):
        program, _, rest = line[7:].partition(" ")
        code = re.search(r" exits (\d+)$", " " + rest)
        row.answers.append((program, re.sub(r" ?exits \d+$", "", rest), int(code[1]) if code else 0, ""))
    elif line.startswith("|"):
        # The line belongs to the last file or answer.
        of = row.answers if last_kind(row) == "answer" else row.files
        of[-1] = (*of[-1][:-1], of[-1][-1] + line[2:] + "\n")
    else:
        raise Malformed("unknown line")


def last_kind(row):
    """The kind of the last line that is not content."""
    return next(line.split()[0] for line in reversed(row.head) if not line.startswith("|"))


def words_of(line):
    words = shlex.split(line)
    if words[0] != "dlaunch" and words[0] not in LAUNCHERS:
        raise Malformed("unknown launcher")
    return words


def write_file(path, introduction, rows):
    blocks = ["\n".join(row.head + row.expected) for row in rows]
    path.write_text("\n".join(introduction) + "\n\n" + "\n\n".join(blocks) + "\n", encoding="utf-8")


class Place:
    """The directories of one row. PATH contains only dlaunch, the programs of ranks and the programs of the answers."""

    def __init__(self, row, directory, dlaunch):
        self.row, self.directory = row, directory
        self.bin, self.home, self.work = (directory / name for name in ("bin", "home", "work"))
        for folder in (self.bin, self.home, self.work):
            folder.mkdir(parents=True)
        self.words = [word.replace("{dir}", str(self.work)).replace("{home}", str(self.home)).replace("{bin}", str(self.bin))
                      for word in words_of(row.line)]
        self.env = {"PATH": str(self.bin), "HOME": str(self.home)} | DRY
        self.env |= {name: self.with_paths(value) for name, value in row.env.items()}
        for name in {"dlaunch", self.words[0]}:
            (self.bin / name).symlink_to(dlaunch)
        for name in PROGRAMS:
            (self.bin / name).symlink_to(directory.parent / "program")
        for name, mode, text in row.files:
            path = pathlib.Path(self.with_paths(name))
            path = path if path.is_absolute() else self.work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.with_paths(text), encoding="utf-8")
            path.chmod(mode)
        self.asked = directory / "asked"
        for program in {answer[0] for answer in row.answers}:
            self.make_stand_in(program)

    def with_paths(self, text):
        return text.replace("{dir}", str(self.work)).replace("{home}", str(self.home)).replace("{bin}", str(self.bin)).replace("{cr}", "\r")

    def make_stand_in(self, program):
        """A program that prints the answers of the row and writes its words to the file `asked`."""
        path = pathlib.Path(self.with_paths(program))
        path = path if path.is_absolute() else self.bin / program
        path.parent.mkdir(parents=True, exist_ok=True)
        text = f"#!/bin/sh\nprintf '%s\\n' \"asks {path.name} $*\" >>{self.asked}\ncase \"$*\" in\n"
        for number, (name, pattern, code, content) in enumerate(self.row.answers):
            if name != program or not pattern:
                continue
            answer = self.directory / f"answer{number}"
            answer.write_text(self.with_paths(content), encoding="utf-8")
            cases = "*".join(shlex.quote(part) if part else "" for part in pattern.split("*"))
            text += f"{cases}) /bin/cat {answer}; exit {code} ;;\n"
        path.unlink(missing_ok=True)
        path.write_text(text + f"esac\nexit {UNEXPECTED}\n", encoding="utf-8")
        path.chmod(0o755)

    def result(self):
        """The result as lines of the file, and whether a program of a rank ran."""
        try:
            done = subprocess.run(self.words, cwd=self.work, env=self.env, stdin=subprocess.DEVNULL, capture_output=True,
                                  timeout=LIMIT, check=False)
        except subprocess.TimeoutExpired:
            return [f"exit none: no end within {LIMIT} s"], False
        lines = [f"exit {done.returncode}"]
        for mark, data in (("  ", done.stdout), ("! ", done.stderr)):
            text = self.without_machine(data.decode(errors="backslashreplace"))
            if self.row.only and mark == "  ":
                text = "".join(line + "\n" for line in text.splitlines() if re.search(self.row.only, line))
            lines += [(mark + line).rstrip() if line else mark.strip() for line in text.split("\n")]
            lines.pop()  # the text ends with a newline
            if not text.endswith("\n") and text:
                lines += [mark + text.rpartition("\n")[2], mark + "{no newline}"]
        if self.asked.exists():
            lines += [self.without_machine(line) for line in sorted(self.asked.read_text().splitlines())]
        while lines and not lines[-1]:
            lines.pop()
        return lines, (self.bin / "a-rank-ran").exists()

    def without_machine(self, text):
        lines = text.split("\n")
        shown = [self.without_places(line) for line in lines]
        for at, line in enumerate(shown):
            if line != lines[at]:
                align_table(shown, at)
        text = "\n".join(shown)
        if "--show-config" in self.words:  # the widths of its columns follow from the longest path
            text = re.sub(r"(?<=\S) {2,}(?=\S)", "  ", text)
        for pattern in (r"^job +([0-9a-f]{16})$", r'"job_id": "([0-9a-f]{16})"', r"^DLAUNCH_JOB_ID=([0-9a-f]{16})$"):
            for job in re.findall(pattern, text, re.M):
                text = text.replace(job, "{job}")
        text = re.sub(r"(?<=[=:\"])2(?:[0-8]\d{3}|9[0-3]\d{2})(?=[\",\]]|$)", "{port}", text, flags=re.M)
        text = re.sub(r"^SLURM_JOB_ID=[1-9]\d{8}$", "SLURM_JOB_ID={random}", text, flags=re.M)
        text = re.sub(r"(?<=/start-)[0-9a-f]{32}", "{random}", text)
        text = re.sub(r"\bsh: (?:line )?\d+: ", "sh: ", text)  # the shells of systems differ
        text = re.sub(r"(?<=_)[0-9a-f]{8}(?=/)", "{random}", text)
        return without_usual_variables(text, [*self.env, *OF_JOB])

    def without_places(self, line):
        """Replaces the directories of the row, and the name of this machine, but not a word of a sentence."""
        for path, name in ((self.work, "{dir}"), (self.bin, "{bin}"), (self.home, "{home}"), (self.directory, "{above}")):
            line = line.replace(str(path), name)
        name = re.escape(os.uname().nodename)
        line = re.sub(rf'(^|\s\s|[=:"(])({name})(?=$|\s\s|[:"),])', r"\1{host}", line)
        return re.sub(rf"(?:(?<= on )|(?<= of )|(?<= host )|(?<=: )){name}(?=$|[:;,)])", "{host}", line)


def align_table(lines, inside):
    """Aligns the columns of the table around a line. The header of a table begins with "rank" or "host"."""
    def is_row(at):
        return 0 <= at < len(lines) and ": " not in lines[at] and re.search(r"\S\s\s+\S", lines[at])
    first = last = inside
    while is_row(first - 1):
        first -= 1
    while is_row(last + 1):
        last += 1
    header = re.match(r"( *)(?:rank|host)  ", lines[first])
    if not is_row(inside) or not header:
        return
    cells = [re.split(r"\s\s+", line.strip()) for line in lines[first:last + 1]]
    widths = [max(len(row[column]) for row in cells if column < len(row)) for column in range(max(map(len, cells)))]
    for number, row in enumerate(cells):
        lines[first + number] = header[1] + "  ".join(cell.ljust(widths[column]) for column, cell in enumerate(row)).rstrip()


def without_usual_variables(text, of_job):
    """Replaces the usual names in the lists of variables of a plan. A missing usual name is shown as -NAME."""
    def folded(match):
        names = match[3].split()
        usual = OF_RANK if match[2] == "one value per rank" else of_job
        missing = [f"-{name}" for name in usual if name not in names]
        return match[1] + "{usual} " + " ".join([name for name in names if name not in usual] + missing)
    text = re.sub(r"^(variables of [^\n]*, (one value per rank|same value for all ranks):)\n((?:  [^\n]*\n)+)",
                  lambda match: folded(match).replace(":{", ": {").rstrip() + "\n", text, flags=re.M)
    each = "variables of every rank, "
    both = f"{each}one value per rank: {{usual}}\n{each}same value for all ranks: {{usual}}\n"
    return text.replace(both, "variables of every rank: {usual}\n")
