"""A job: the process of dlaunch, its lines, and its result."""
import base64
import json
import os
import queue
import shutil
import signal
import subprocess
import sysconfig
import tempfile
import threading
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Union

Hosts = Union[str, Sequence[str]]


@dataclass(frozen=True)
class Line:
    """A line of a rank, or of dlaunch itself."""

    rank: Optional[int]  # None: dlaunch, or MindSpore's scheduler
    host: str            # "" for dlaunch
    stream: str          # "stdout" or "stderr"
    text: str            # without the newline; bytes that are not UTF-8 are replaced
    round: int = 0       # number of restarts before


@dataclass(frozen=True)
class Rank:
    """The end of one rank."""

    rank: int
    host: str
    code: Optional[int]  # as in a shell: 128 + N after signal N; None: the rank did not end or did not start
    pid: Optional[int]


@dataclass(frozen=True)
class Failure:
    """The rank that failed first."""

    rank: Optional[int]
    host: str
    text: str  # "exited with code 3"


@dataclass(frozen=True)
class Result:
    """The end of a job. `record` has all details: docs/output-formats.md describes its keys."""

    code: int                                  # the exit code of dlaunch
    ranks: List[Rank] = field(default_factory=list)
    first_failure: Optional[Failure] = None
    messages: str = ""                         # of dlaunch; "" if run() printed them
    record: Dict[str, Any] = field(default_factory=dict)

    def check(self) -> "Result":
        """Returns this result. Raises JobFailed if the job failed."""
        if self.code != 0:
            raise JobFailed(self)
        return self


class JobFailed(Exception):
    """The job failed: `result` has the details."""

    def __init__(self, result: Result, text: str = "") -> None:
        self.result = result
        failure = result.first_failure
        if not text and failure:
            text = f"rank {failure.rank} (host {failure.host}): {failure.text}"
        super().__init__(text or result.messages.strip() or f"dlaunch exited with code {result.code}")


def binary() -> str:
    """The path of dlaunch: $DLAUNCH_BIN, else in the folder of this Python, else in PATH. Raises FileNotFoundError."""
    named = os.environ.get("DLAUNCH_BIN")
    if named:
        return named
    beside = os.path.join(sysconfig.get_path("scripts"), "dlaunch")
    found = beside if os.access(beside, os.X_OK) else shutil.which("dlaunch")
    if not found:
        raise FileNotFoundError("dlaunch: not found: set DLAUNCH_BIN or PATH")
    return found


def words_of(options: Mapping[str, Any]) -> List[str]:
    """restarts=3 is --restarts=3; True is an option without a value; None and False are left out; a list repeats."""
    words = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        for each in value if isinstance(value, (list, tuple)) else [value]:
            if each is True:
                words.append(option)
            elif each is not None and each is not False:
                words.append(f"{option}={each}")
    return words


class Job:
    """A running job. As a context manager, it ends the job at the end of the block."""

    def __init__(self, words: List[str], env: Optional[Mapping[str, str]], cwd: Optional[str], capture: bool,
                 stdin: Any, report: Optional[str]) -> None:
        self._temporary = None if report else tempfile.TemporaryDirectory(prefix="dlaunch-python-")
        self._report = report or os.path.join(self._temporary.name, "record.json")
        words = [binary(), f"--report={self._report}", *words]
        pipe = subprocess.PIPE if capture else None
        try:
            self._process = subprocess.Popen(words, env={**os.environ, **(env or {})}, cwd=cwd, stdin=stdin, stdout=pipe,
                                             stderr=pipe)
        except BaseException:
            self._remove()
            raise
        self._cwd = cwd
        self._messages: List[str] = []
        self._result: Optional[Result] = None
        # A slow reader of lines() stops the ranks, as a slow terminal does.
        self._queue: "queue.Queue[Optional[Line]]" = queue.Queue(maxsize=4096)
        self._readers = []
        self._left = 0
        if capture:
            self._left = 2
            for read in (self._read_ranks, self._read_messages):
                thread = threading.Thread(target=read, daemon=True)
                thread.start()
                self._readers.append(thread)

    @property
    def pid(self) -> int:
        """The process of dlaunch."""
        return self._process.pid

    def lines(self) -> Iterator[Line]:
        """The lines of the ranks and of dlaunch, as they arrive, until the job has ended."""
        while self._left > 0:
            line = self._queue.get()
            if line is None:
                self._left -= 1
            else:
                yield line

    def end(self) -> None:
        """Sends SIGTERM to dlaunch, which ends all ranks. A second call ends the ranks at once."""
        self._process.send_signal(signal.SIGTERM)

    def wait(self, timeout: Optional[float] = None) -> Result:
        """Waits for the end of the job, and drops the lines that lines() has not returned. `timeout` is in seconds:
        raises subprocess.TimeoutExpired, and the job continues."""
        if self._result is None:
            if self._readers and self._left > 0 and timeout is None:
                for _ in self.lines():
                    pass
            elif self._readers and self._left > 0:
                threading.Thread(target=lambda: [None for _ in self.lines()], daemon=True).start()
            code = self._process.wait(timeout)
            for thread in self._readers:
                thread.join()
            self._result = self._read_result(code if code >= 0 else 128 - code)
            self._remove()
        return self._result

    def __enter__(self) -> "Job":
        return self

    def __exit__(self, *_: Any) -> None:
        if self._process.poll() is None:
            self.end()
        self.wait()

    def _read_ranks(self) -> None:
        begun: Dict[Any, Line] = {}  # pieces of lines
        for raw in self._process.stdout:
            row = json.loads(raw)
            data = base64.b64decode(row["base64"]).decode(errors="replace") if "base64" in row else row["text"]
            key = (row.get("world"), row["rank"], row["stream"])
            before = begun.pop(key, None)
            line = Line(row["rank"], row["host"], row["stream"], (before.text if before else "") + data,
                        row.get("round", 0))
            if row.get("eol") is False and len(line.text) < 1 << 20:
                begun[key] = line
            else:
                self._queue.put(line)
        for line in begun.values():
            self._queue.put(line)
        self._queue.put(None)

    def _read_messages(self) -> None:
        for raw in self._process.stderr:
            text = raw.decode(errors="replace")
            self._messages.append(text)
            self._queue.put(Line(None, "", "stderr", text.rstrip("\n")))
        self._queue.put(None)

    def _read_result(self, code: int) -> Result:
        messages = "".join(self._messages)
        try:
            with open(os.path.join(self._cwd or "", self._report), encoding="utf-8") as file:
                record = json.load(file)
        except (OSError, ValueError):
            return Result(code, messages=messages)  # dlaunch refused the command line
        ranks = [Rank(each["rank"], each["host"], each.get("shell_code"), each.get("pid")) for each in record["ranks"]]
        first = record.get("first_failure")
        failure = Failure(first["rank"], first["host"], first["text"]) if first else None
        return Result(code, ranks, failure, messages, record)

    def _remove(self) -> None:
        if self._temporary:
            self._temporary.cleanup()
            self._temporary = None


def start(argv: Sequence[str], *, ranks: Optional[int] = None, hosts: Optional[Hosts] = None,
          env: Optional[Mapping[str, str]] = None, timeout: Optional[float] = None, cwd: Optional[str] = None,
          stdin: Any = subprocess.DEVNULL, stdin_to: Union[int, str, None] = None, report: Optional[str] = None,
          **options: Any) -> Job:
    """Starts a job whose lines() this process reads.

    `env` adds variables of the ranks. `timeout` is in seconds. `stdin` is a file as for subprocess, and `stdin_to` the
    rank that gets it (--stdin). All other options of dlaunch are keywords: restarts=3 is --restarts=3.
    """
    return _start(argv, ranks, hosts, env, timeout, cwd, stdin, report, True, {**options, "stdin": stdin_to})


def run(argv: Sequence[str], *, ranks: Optional[int] = None, hosts: Optional[Hosts] = None,
        env: Optional[Mapping[str, str]] = None, timeout: Optional[float] = None, cwd: Optional[str] = None,
        stdin: Any = None, stdin_to: Union[int, str, None] = None, report: Optional[str] = None,
        on_line: Optional[Callable[[Line], None]] = None, **options: Any) -> Result:
    """Runs a job. The job prints to this process's stdout and stderr, or `on_line` gets each line instead. The other
    arguments are those of start()."""
    job = _start(argv, ranks, hosts, env, timeout, cwd, stdin, report, on_line is not None,
                 {**options, "stdin": stdin_to})
    with _ended_with_block(job):
        if on_line:
            for line in job.lines():
                on_line(line)
        return job.wait()


class _ended_with_block:
    """If an exception leaves the block (Ctrl-C, an error of on_line), ends the job and waits for its end."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is not None:
            self._job.__exit__()


def _start(argv: Sequence[str], ranks: Optional[int], hosts: Optional[Hosts], env: Optional[Mapping[str, str]],
           timeout: Optional[float], cwd: Optional[str], stdin: Any, report: Optional[str], capture: bool,
           options: Mapping[str, Any]) -> Job:
    if isinstance(argv, str):
        raise TypeError("argv must be a list of words, such as ['python3', 'train.py']")
    words = []
    if capture:
        words += ["--format=jsonl", "--status=off"]
    if ranks is not None:
        words.append(f"-n{ranks}")
    if hosts is not None:
        words.append("--host=" + (hosts if isinstance(hosts, str) else ",".join(hosts)))
    if timeout is not None:
        words.append(f"--timeout={timeout}")
    for name in env or {}:
        words += ["-x", name]
    return Job([*words, *words_of(options), "--", *map(str, argv)], env, cwd, capture, stdin, report)
