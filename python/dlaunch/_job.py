"""A job: the process of dlaunch, its lines, and its result."""
import base64
import collections
import ctypes
import dataclasses
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Callable, Deque, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

Hosts = Union[str, Sequence[str]]

PIECE = 1 << 16      # bytes: dlaunch divides longer lines
MOST_AFTER_INTERRUPT = 15  # seconds
MOST_AFTER_END = 10  # seconds: another process may keep a pipe of dlaunch open


@dataclass(frozen=True)
class Line:
    """A line of a rank, or of dlaunch itself."""

    rank: Optional[int]  # None: dlaunch, or MindSpore's scheduler
    host: str            # "" for dlaunch
    stream: str          # "stdout" or "stderr"
    text: str            # without the newline; bytes that are not UTF-8 are replaced
    round: int = 0       # number of restarts before
    data: bytes = b""    # the bytes of a rank's line, without the newline
    eol: bool = True     # the line ended with a newline


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

    def __reduce__(self) -> Tuple[Any, ...]:  # BaseException would pass only the text
        return JobFailed, (self.result, str(self))


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


class _Lines:
    """The lines between the threads that read dlaunch's output and the users of Job.lines()."""

    MOST = 4096  # then a reading thread waits: the ranks wait as for a slow terminal

    def __init__(self, sources: int) -> None:
        self._changed = threading.Condition()
        self._lines: Deque[Line] = collections.deque()
        self._sources = sources  # threads that still read
        self._droppers = 0       # calls of wait()

    def put(self, line: Line) -> None:
        with self._changed:
            while len(self._lines) >= self.MOST and not self._droppers:
                self._changed.wait()
            if not self._droppers:
                self._lines.append(line)
                self._changed.notify_all()

    def is_dropping(self) -> bool:
        return self._droppers > 0

    def end_source(self) -> None:
        with self._changed:
            self._sources -= 1
            self._changed.notify_all()

    def take(self) -> Optional[Line]:
        """Waits for a line. None: all lines were taken, and the job has ended."""
        with self._changed:
            while not self._lines and self._sources:
                self._changed.wait()
            if not self._lines:
                return None
            self._changed.notify_all()
            return self._lines.popleft()

    def drop(self, wanted: bool) -> None:
        with self._changed:
            self._droppers += 1 if wanted else -1
            if wanted:
                self._lines.clear()
            self._changed.notify_all()


class _Starter(threading.Thread):
    """Starts the processes. The kernel ends a job when the thread that started its process ends: this thread ends with
    Python, and not with the caller's thread."""

    def __init__(self) -> None:
        super().__init__(daemon=True, name="dlaunch-starter")
        self.pid = os.getpid()  # after a fork, the thread is in the other process
        self._calls: "queue.SimpleQueue[Callable[[], None]]" = queue.SimpleQueue()
        self.start()

    def run(self) -> None:
        while True:
            self._calls.get()()

    def popen(self, close: Sequence[int], *args: Any, **kwargs: Any) -> "subprocess.Popen[bytes]":
        """Closes the descriptors afterwards."""
        done: "queue.SimpleQueue[Any]" = queue.SimpleQueue()

        def call() -> None:
            try:
                done.put(subprocess.Popen(*args, **kwargs))
            except BaseException as error:
                done.put(error)
            for fd in close:
                os.close(fd)

        def end() -> None:
            lost = done.get()
            if isinstance(lost, subprocess.Popen):
                lost.terminate()
                threading.Thread(target=lost.wait, daemon=True).start()

        self._calls.put(call)
        try:
            started = done.get()
        except BaseException:  # Ctrl-C: only end() can reach the process
            self._calls.put(end)
            raise
        if isinstance(started, BaseException):
            raise started
        return started


_starter: Optional[_Starter] = None
_starter_lock = threading.Lock()
_prctl = ctypes.CDLL(None, use_errno=True).prctl
_PR_SET_PDEATHSIG = 1


def _popen(close: Sequence[int], *args: Any, **kwargs: Any) -> "subprocess.Popen[bytes]":
    global _starter
    parent = os.getpid()

    def end_with_parent() -> None:  # in the new process: Python may be killed at any time
        _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            os._exit(1)

    with _starter_lock:
        if _starter is None or _starter.pid != parent:
            _starter = _Starter()
    return _starter.popen(close, *args, preexec_fn=end_with_parent, **kwargs)


class Job:
    """A running job. As a context manager, it ends the job at the end of the block. The job also ends with Python."""

    def __init__(self, words: List[str], env: Optional[Mapping[str, str]], cwd: Optional[str], capture: bool,
                 stdin: Any, report: Optional[str]) -> None:
        program = binary()
        self._report = os.path.join(cwd or "", report) if report else None
        self._earlier = self._identity()
        reader, writer = (-1, -1) if report else os.pipe()
        words = [program, f"--report={report or f'/dev/fd/{writer}'}", *words]
        pipe = subprocess.PIPE if capture else None
        closed = () if report else (writer,)
        try:
            self._process = _popen(closed, words, env={**os.environ, **(env or {})}, cwd=cwd, stdin=stdin, stdout=pipe,
                                   stderr=pipe, pass_fds=closed)
        except BaseException:
            if not report:
                os.close(reader)
            raise
        self._record = b""
        self._messages: List[str] = []
        self._result: Optional[Result] = None
        self._lines = _Lines(2 if capture else 0)
        self._ended = threading.Lock()
        self._threads: List[threading.Thread] = []
        if not report:
            self._read(self._read_record, open(reader, "rb"))
        if capture:
            self._read(self._read_ranks, self._process.stdout)
            self._read(self._read_messages, self._process.stderr)

    @property
    def pid(self) -> int:
        """The process of dlaunch."""
        return self._process.pid

    def lines(self) -> Iterator[Line]:
        """The lines of the ranks and of dlaunch, as they arrive, until the job has ended. Several threads may read: each
        line goes to one of them."""
        while True:
            line = self._lines.take()
            if line is None:
                return
            yield line

    def end(self) -> None:
        """Sends SIGTERM to dlaunch, which ends all ranks. A second call ends the ranks at once."""
        self._process.send_signal(signal.SIGTERM)

    def wait(self, timeout: Optional[float] = None) -> Result:
        """Waits for the end of the job, and drops the lines that arrive meanwhile. `timeout` is in seconds: raises
        subprocess.TimeoutExpired, and the job continues."""
        self._lines.drop(True)
        try:
            code = self._process.wait(timeout)
            with self._ended:
                if self._result is None:
                    end = time.monotonic() + MOST_AFTER_END
                    for thread in self._threads:
                        thread.join(max(0.0, end - time.monotonic()))
                    self._result = self._make_result(code)
                return self._result
        finally:
            self._lines.drop(False)

    def __enter__(self) -> "Job":
        return self

    def __exit__(self, kind: Any = None, *_: Any) -> None:
        # Ctrl-C in a terminal also interrupts dlaunch, for which a second signal means: kill the ranks at once.
        if kind is KeyboardInterrupt and self._has_terminal():
            try:
                self.wait(MOST_AFTER_INTERRUPT)
                return
            except subprocess.TimeoutExpired:
                pass  # another source of the interrupt, such as kill or a debugger
        if self._process.poll() is None:
            self.end()
        self.wait()

    def _has_terminal(self) -> bool:
        """Whether the terminal sends its signals to dlaunch."""
        try:
            with open("/dev/tty", "rb", buffering=0) as terminal:
                return os.tcgetpgrp(terminal.fileno()) == os.getpgid(self.pid)
        except OSError:
            return False

    def _identity(self) -> Optional[Tuple[int, int, int]]:
        """Of the file of the record."""
        try:
            status = os.stat(self._report) if self._report else None
        except OSError:
            return None
        return (status.st_dev, status.st_ino, status.st_mtime_ns) if status else None

    def _read(self, function: Callable[[Any], None], stream: Any) -> None:
        def run() -> None:
            try:
                with stream:
                    function(stream)
            finally:
                if function != self._read_record:
                    self._lines.end_source()

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        self._threads.append(thread)

    def _read_record(self, stream: Any) -> None:
        self._record = stream.read()

    def _read_ranks(self, stream: Any) -> None:
        begun: Dict[Any, Line] = {}  # pieces of lines
        for raw in stream:
            if self._lines.is_dropping():  # a parsed line costs more than a rank that floods needs to write it
                begun.clear()
                continue
            try:
                row = json.loads(raw)
                key = (row.get("world"), row["rank"], row["stream"])
                data = base64.b64decode(row["base64"]) if "base64" in row else row["text"].encode()
                host = row["host"]
            except (AttributeError, ValueError, KeyError, TypeError):  # --help, --version, --dry-run
                self._lines.put(Line(None, "", "stdout", raw.decode(errors="replace").rstrip("\n")))
                continue
            before = begun.pop(key, None)
            line = Line(row["rank"], host, row["stream"], "", row.get("round", 0),
                        (before.data if before else b"") + data, row.get("eol", True))
            if not line.eol and len(data) >= PIECE and len(line.data) < 1 << 20:
                begun[key] = line
            else:
                self._put(line)
        for line in begun.values():
            self._put(line)

    def _put(self, line: Line) -> None:
        self._lines.put(dataclasses.replace(line, text=line.data.decode(errors="replace")))

    def _read_messages(self, stream: Any) -> None:
        for raw in stream:
            text = raw.decode(errors="replace")
            self._messages.append(text)
            self._lines.put(Line(None, "", "stderr", text.rstrip("\n")))

    def _make_result(self, code: int) -> Result:
        messages = "".join(self._messages)
        if code < 0:
            messages += f"dlaunch (pid {self.pid}) was killed by {signal.Signals(-code).name}\n"
            code = 128 - code
        try:
            if self._report and self._identity() != self._earlier:  # else the record of an earlier job
                with open(self._report, "rb") as file:
                    self._record = file.read()
            record = json.loads(self._record)
        except (OSError, ValueError):
            record = {}  # dlaunch rejected the command line, or was killed
        if record.get("cause") == "running":  # of a job whose dlaunch was killed
            record = {}
        ranks = [Rank(each["rank"], each["host"], each.get("shell_code"), each.get("pid"))
                 for each in record.get("ranks", [])]
        first = record.get("first_failure")
        failure = Failure(first["rank"], first["host"], first["text"]) if first else None
        return Result(code, ranks, failure, messages, record)


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
    with job:  # a job that has ended stays as it is
        if on_line:
            for line in job.lines():
                on_line(line)
        return job.wait()


READS_LINES = ("format", "fold", "raw", "dry_run")


def _start(argv: Sequence[str], ranks: Optional[int], hosts: Optional[Hosts], env: Optional[Mapping[str, str]],
           timeout: Optional[float], cwd: Optional[str], stdin: Any, report: Optional[str], capture: bool,
           options: Mapping[str, Any]) -> Job:
    if getattr(sys, "_dlaunch_imports_main", False):
        raise RuntimeError("a rank of dlaunch.call() imports this script: guard its start with "
                           "if __name__ == '__main__'")
    if isinstance(argv, str):
        raise TypeError("argv must be a list of words, such as ['python3', 'train.py']")
    if ":" in argv:
        raise ValueError("argv: the word ':' separates programs: use sh -c to pass it to the program")
    if ranks is not None and (not isinstance(ranks, int) or ranks < 1):
        raise ValueError(f"ranks: invalid number {ranks!r}: expected 1 or more")
    for name, value in (env or {}).items():
        if not isinstance(value, str):
            raise TypeError(f"env: invalid value {value!r} of {name}: expected a str")
    words = []
    if capture:
        for name in READS_LINES:
            if options.get(name):
                raise ValueError(f"{name}: not supported if Python reads the lines: use run() without on_line")
        words += ["--format=jsonl", "--status=off"]
    if ranks is not None:
        words.append(f"--np={ranks}")
    if hosts is not None:
        words.append("--host=" + (hosts if isinstance(hosts, str) else ",".join(hosts)))
    if timeout is not None:
        words.append(f"--timeout={timeout}")
    for name in env or {}:
        words += ["-x", name]
    return Job([*words, *words_of(options), "--", *map(str, argv)], env, cwd, capture, stdin, report)
