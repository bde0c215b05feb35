"""Finds the sentences of a file: Markdown, C++ comments and messages, # comments and messages of scripts.

A Block is one paragraph, table cell, comment or message. `words:ok: REASON` on any line of a block, or in a Markdown
comment on the line before it, exempts the block.
"""
import re
from typing import NamedTuple


class Block(NamedTuple):
    first: int  # line numbers, from 1
    last: int
    kind: str  # heading, doc, cell, comment or message
    text: str


def exemption(path):
    """Matches words:ok in a comment of a file of this kind."""
    mark = "<!--" if path.endswith(".md") else "//|/\\*" if path.endswith((".h", ".cpp", ".c", ".inc")) else "#"
    return re.compile("(?:%s).*words:ok(?P<reason>: *\\S.*)?" % mark)


def joined(parts):
    return re.sub(r"\s+", " ", " ".join(parts)).strip()


def without_links(text):
    return re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text).replace("**", "")


class Paragraphs:
    """Collects lines into blocks."""

    def __init__(self):
        self.blocks = []
        self.lines, self.first, self.last, self.kind = [], 0, 0, ""

    def add(self, number, kind, text):
        if not self.lines:
            self.first, self.kind = number, kind
        self.lines.append(text)
        self.last = number

    def end(self):
        if self.lines:
            self.blocks.append(Block(self.first, self.last, self.kind, joined(self.lines)))
        self.lines = []

    def single(self, number, kind, text):
        self.end()
        self.add(number, kind, text)
        self.end()


def markdown(text):
    """Paragraphs, list items, headings and table cells; no code."""
    found, fenced = Paragraphs(), False
    for number, line in enumerate(text.split("\n"), 1):
        bare = line.strip()
        if bare.startswith(("```", "~~~")):
            fenced = not fenced
            found.end()
        elif fenced or bare.startswith("<!--"):
            continue
        elif not bare or (line.startswith("    ") and not found.lines):
            found.end()
        elif bare.startswith("|"):
            if re.fullmatch(r"[|\s:-]+", bare):
                continue
            for cell in re.split(r"(?<!\\)\|", bare)[1:-1]:
                found.single(number, "cell", without_links(cell))
        elif bare.startswith("#"):
            found.single(number, "heading", without_links(bare.lstrip("# ")))
        else:
            if re.match(r"([-*]|\d+\.)\s", bare):
                found.end()
                bare = re.sub(r"^([-*]|\d+\.)\s+", "", bare)
            found.add(number, "doc", without_links(bare))
    found.end()
    return found.blocks


CPP = re.compile(
    r'//(?P<line>[^\n]*)|/\*(?P<block>.*?)\*/|R"\((?P<raw>.*?)\)"|"(?P<string>(?:[^"\\\n]|\\.)*)"'
    r"|'(?:[^'\\\n]|\\.)*'", re.S)
NO_SENTENCE = re.compile(r"clang-format|NOLINT|namespace|IWYU")


def is_message(text):
    return " " in text and len(re.findall(r"[a-z]{2,}", text)) >= 3


class Messages:
    """Joins the pieces of a string literal and of "a" + b + "c", which is read as "a{}c"."""

    def __init__(self, text, out):
        self.text, self.out = text, out
        self.pieces, self.first, self.last, self.end_at = [], 0, 0, 0

    def add(self, number, match, value):
        between = self.text[self.end_at:match.start()] if self.pieces else None
        value = value.replace("\\n", "\n").replace('\\"', '"').replace("\\\\", "\\").replace("\\t", " ")
        if between is not None and len(between) < 200 and re.fullmatch(r"\s*\+[^;{}\"?]*\+\s*", between):
            self.pieces += ["{}", value]
        elif between is not None and not between.strip():
            self.pieces.append(value)
        else:
            self.end()
            self.pieces, self.first = [value], number
        self.last, self.end_at = number + value.count("\n"), match.end()

    def end(self):
        for piece in "".join(self.pieces).split("\n"):
            if is_message(piece):
                self.out.append(Block(self.first, self.last, "message", joined([piece])))
        self.pieces = []


def cpp(text):
    """Comments, and string literals that look like a message."""
    comments = Paragraphs()
    messages = Messages(text, comments.blocks)
    number, position = 1, 0
    trailing_before = False
    for match in CPP.finditer(text):
        number += text.count("\n", position, match.start())
        position = match.start()
        line_start = text.rfind("\n", 0, match.start()) + 1
        before = text[line_start:match.start()]
        if match.group("line") is not None:
            messages.end()
            body = match.group("line").lstrip("/").lstrip("<").strip()
            if NO_SENTENCE.match(body):
                continue
            if re.match(r"/*<? {3}", match.group("line")):  # an indented example or table
                comments.end()
                continue
            trailing = bool(before.strip())
            if trailing or trailing_before or number != comments.last + 1 or not body or body.startswith("---"):
                continues = trailing_before and not trailing and number == comments.last + 1
                if not continues or not body:
                    comments.end()
            if not body or body.startswith("---"):
                continue
            if re.match(r"[-*] ", body):
                comments.end()
                body = body[2:]
            trailing_before = trailing or (trailing_before and bool(comments.lines))
            comments.add(number, "comment", body)
        elif match.group("string") is not None or match.group("raw") is not None:
            comments.end()
            if not before.lstrip().startswith("#include"):
                value = match.group("string")
                messages.add(number, match, value if value is not None else match.group("raw"))
        elif match.group("block") is not None:
            comments.end()
            lines = match.group("block").split("\n")
            comments.blocks.append(Block(number, number + len(lines) - 1, "comment",
                                         joined(line.strip().lstrip("*") for line in lines)))
    comments.end()
    messages.end()
    return comments.blocks


SHELL_MESSAGE = re.compile(r"""\b(?:say|die|echo|printf)\s+(?:'[^']*%[^']*'\s+)?("(?:[^"\\]|\\.)*"|'[^']*')(?:\s+("(?:[^"\\]|\\.)*"|'[^']*'))?""")


def script(text, messages):
    """# comments and one-line docstrings; with `messages`, what say, die, echo and printf of a shell script print."""
    found, in_list = Paragraphs(), False  # a list has items like "#   --all  every call"
    for number, line in enumerate(text.split("\n"), 1):
        comment = re.match(r"\s*#(?!!)\s?(.*)$", line)
        trailing = None if comment else re.search(r"\s{2}#\s(.*)$", line)
        docstring = re.match(r'\s*"""(.+?)(""")?$', line)
        if comment and comment.group(1):
            item = re.match(r"  \S", comment.group(1)) is not None
            if number != found.last + 1 or item or (in_list and not comment.group(1).startswith("   ")):
                found.end()
                in_list = item
            found.add(number, "comment", comment.group(1))
            continue
        found.end()
        if trailing:
            found.single(number, "comment", trailing.group(1))
        if docstring:
            found.single(number, "comment", docstring.group(1))
        for match in SHELL_MESSAGE.finditer(line) if messages and not comment else ():
            for word in filter(None, match.groups()):
                if is_message(word):
                    found.single(number, "message", re.sub(r"\$\{[^}]*\}|\$\([^)]*\)|\$\w+", "X", word.strip("\"'")))
    found.end()
    return found.blocks


def blocks(path, text):
    """The blocks of a file that are not exempt, and the lines with `words:ok` that lack a reason."""
    if path.endswith(".md"):
        found = markdown(text)
    elif path.endswith((".h", ".cpp", ".c", ".inc")):
        found = cpp(text)
    else:
        found = script(text, messages=not path.endswith(".py"))
    exempt, unexplained, marked = set(), [], exemption(path)
    for number, line in enumerate(text.split("\n"), 1):
        match = marked.search(line)
        if not match:
            continue
        exempt.add(number)
        if line.strip().startswith("<!--"):
            exempt.add(number + 1)
        if not match.group("reason"):
            unexplained.append(number)
    if exempt:
        found = [b for b in found if not exempt.intersection(range(b.first, b.last + 1))]
    return found, unexplained


ABBREVIATION = re.compile(r"\b(e\.g|i\.e|etc|vs|cf|approx)\.$")


def sentences(text):
    """Splits at . ! ? before a capital or "dlaunch", and at ';'."""
    parts, start = [], 0
    for match in re.finditer(r"[.!?](?=[)\"]?\s+[\"(`*-]?([A-Z0-9`-]|dlaunch\b|[a-z_]+[(/_.]))|;\s", text):
        piece = text[start:match.end()].strip()
        if ABBREVIATION.search(piece):
            continue
        parts.append(piece.rstrip(";"))
        start = match.end()
    parts.append(text[start:].strip())
    return [part for part in parts if part]


def words(sentence):
    return re.findall(r"[A-Za-z][A-Za-z'’-]*", re.sub(r"`[^`]*`", " ", sentence))
