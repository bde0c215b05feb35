"""call(): a Python function in each rank."""
import base64
import dataclasses
import json
import os
import pickle
import secrets
import sys
import tempfile
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple, TypeVar

from ._job import Hosts, JobFailed, Line, Result, binary, start

T = TypeVar("T")

VARIABLE = "DLAUNCH_PYTHON_CALL"
MOST_IN_VARIABLE = 64 << 10  # bytes; a variable of Linux has at most 128 KiB
LARGEST = 64 << 20  # bytes of a value, and of the function with its arguments


class RankFailed(JobFailed):
    """The function raised an exception in a rank, or the rank ended without a value."""

    def __init__(self, result: Result, rank: int, host: str, type_name: str, message: str, traceback: str) -> None:
        self.rank = rank
        self.host = host
        self.type_name = type_name  # "ValueError"; "" if the rank ended without an exception
        self.message = message
        self.traceback = traceback
        what = f"{type_name}: {message}" if type_name else message
        super().__init__(result, f"rank {rank} (host {host}): {what}" + (f"\n{traceback}" if traceback else ""))

    def __reduce__(self) -> Tuple[Any, ...]:
        return RankFailed, (self.result, self.rank, self.host, self.type_name, self.message, self.traceback)


class _Answer:
    """The value or the error of one rank, in pieces."""

    def __init__(self) -> None:
        self.kind = ""
        self.pieces: Dict[int, bytes] = {}
        self.number = 0

    def add(self, kind: str, at: str, number: str, text: str) -> None:
        self.kind = kind
        self.number = int(number)
        self.pieces[int(at)] = base64.b64decode(text)

    def data(self) -> Optional[bytes]:
        if not self.number or len(self.pieces) != self.number:
            return None
        return b"".join(self.pieces[at] for at in range(self.number))


def _dumps(value: Any) -> bytes:
    """cloudpickle, if installed, also takes lambdas and functions of a notebook."""
    try:
        import cloudpickle
    except ImportError:
        return pickle.dumps(value)
    return cloudpickle.dumps(value)


def _main_module() -> Optional[Dict[str, Any]]:
    from multiprocessing import spawn

    data = spawn.get_preparation_data("dlaunch")
    name, path = data.get("init_main_from_name"), data.get("init_main_from_path")
    if name and not name.endswith(".__main__"):  # python -m module
        return {"init_main_from_name": name}
    return {"init_main_from_path": path} if path and os.path.exists(path) else None


def _check_importable(function: Any, main: Optional[Dict[str, Any]]) -> None:
    try:
        import cloudpickle  # noqa: F401
    except ImportError:
        if main is None and getattr(function, "__module__", None) == "__main__":
            name = getattr(function, "__qualname__", repr(function))
            raise ValueError(f"the ranks cannot import {name}: move the function into a module, or install cloudpickle")


def call(function: Callable[..., T], *args: Any, ranks: Optional[int] = None, hosts: Optional[Hosts] = None,
         env: Optional[Mapping[str, str]] = None, timeout: Optional[float] = None, cwd: Optional[str] = None,
         python: str = sys.executable, on_line: Optional[Callable[[Line], None]] = None,
         options: Optional[Mapping[str, Any]] = None, **kwargs: Any) -> List[T]:
    """Calls function(*args, **kwargs) in each rank. Returns the values in the order of the ranks.

    Raises RankFailed with the first failure. The function's module must be importable on each host. A script must guard
    its own start with `if __name__ == "__main__"`. What the ranks print goes to this process's stdout and stderr, or to
    `on_line`. `options` are further options of dlaunch: options={"restarts": 3}.
    """
    for name in ("stdin", *call.__kwdefaults__):
        if name in (options or {}):
            raise ValueError(f"options: invalid name {name!r}: " + ("the ranks need stdin" if name == "stdin" else
                                                                   f"use the argument {name}= of call()"))
    main = _main_module()
    _check_importable(function, main)
    mark = f"\x02dlaunch {secrets.token_hex(8)} "
    payload = pickle.dumps({"mark": mark, "argv": sys.argv, "path": [os.path.abspath(p or ".") for p in sys.path],
                            "main": main, "function": _dumps((function, args, kwargs)), "limit": LARGEST})
    if len(payload) > LARGEST:
        raise ValueError(f"the function and its arguments have {len(payload)} bytes, the limit is {LARGEST}")
    with open(os.path.join(os.path.dirname(__file__), "_worker.py"), encoding="utf-8") as file:
        source = file.read()
    answers: Dict[int, _Answer] = {}
    round_number = 0
    with tempfile.TemporaryFile() as stdin:
        place: Dict[str, Any] = {}
        if len(payload) <= MOST_IN_VARIABLE:
            env = {**(env or {}), VARIABLE: base64.b64encode(payload).decode()}
        else:
            if (options or {}).get("restarts"):  # restarted ranks cannot read the input again
                raise ValueError(f"with restarts, the function and its arguments have at most {MOST_IN_VARIABLE >> 10} KiB: "
                                 f"these have {len(payload)} bytes")
            stdin.write(payload)
            stdin.seek(0)
            place = {"stdin": stdin, "stdin_to": "all"}
        with start([python, "-c", source], ranks=ranks, hosts=hosts, env=env, timeout=timeout, cwd=cwd, **place,
                   **(options or {})) as job:
            for line in job.lines():
                text, found, row = line.data.partition(mark.encode())
                if line.round > round_number:
                    answers.clear()
                    round_number = line.round
                if found and line.stream == "stdout":
                    rank, *words = row.decode().split(" ")
                    answers.setdefault(int(rank), _Answer()).add(*words)
                    if not text:
                        continue
                    line = dataclasses.replace(line, text=text.decode(errors="replace"), data=text)
                (on_line or _print)(line)
            result = job.wait()
    return _values(result, answers)


def _print(line: Line) -> None:
    stream = sys.stdout if line.stream == "stdout" else sys.stderr
    if line.rank is None or stream is None:  # the messages of dlaunch are part of the exception
        return
    is_piece = not line.eol and len(line.data) >= 1 << 20
    end = "" if line.text.endswith("\r") or is_piece else "\n"
    buffer = getattr(stream, "buffer", None)
    if buffer is None:  # a notebook, or a test that replaced the stream
        stream.write(line.text + end)
    else:
        stream.flush()
        buffer.write(line.data + end.encode())
    stream.flush()


def _values(result: Result, answers: Dict[int, _Answer]) -> List[Any]:
    failure = result.first_failure
    if result.code != 0 and failure is not None and failure.rank is not None:
        answer = answers.get(failure.rank)
        data = answer.data() if answer and answer.kind == "error" else None
        told = json.loads(data) if data else ["", failure.text, ""]
        raise RankFailed(result, failure.rank, failure.host, *told)
    result.check()
    if not result.record:
        raise JobFailed(result, f"{binary()} ran no job: an option or a variable DLAUNCH_* asks for other output, "
                                "or DLAUNCH_BIN names another program")
    values = []
    for rank in result.ranks:
        answer = answers.get(rank.rank)
        data = answer.data() if answer and answer.kind == "value" else None
        if data is None:
            why = "the rank ended without a value (its stdout must reach dlaunch's stdout)"
            raise RankFailed(result, rank.rank, rank.host, "", why, "")
        try:
            values.append(pickle.loads(data))
        except Exception as error:
            why = f"the value cannot be unpickled: {error}"
            raise RankFailed(result, rank.rank, rank.host, type(error).__name__, why, "") from error
    return values
