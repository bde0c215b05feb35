# The program of each rank of dlaunch.call(). Python reads this source from its command line (-c): the hosts need no
# package of dlaunch. A variable or stdin has the call; the values go to stdout in lines that begin with a mark.
import base64
import fcntl
import json
import os
import pickle
import sys
import traceback

PIECE = 2400  # bytes; the line of a piece is shorter than PIPE_BUF, so no other line divides it


def send(fd, mark, kind, data):
    rank = os.environ["DLAUNCH_RANK"]
    pieces = [data[at:at + PIECE] for at in range(0, len(data), PIECE)] or [b""]
    for number, piece in enumerate(pieces):
        text = base64.b64encode(piece).decode()
        line = "{}{} {} {} {} {}\n".format(mark, rank, kind, number, len(pieces), text).encode()
        while line:
            line = line[os.write(fd, line):]


def main():
    text = os.environ.pop("DLAUNCH_PYTHON_CALL", None)
    call = pickle.loads(base64.b64decode(text)) if text else pickle.load(sys.stdin.buffer)
    out = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 200)  # the function may close its own descriptors
    code = 1
    try:
        sys.argv = call["argv"]
        sys.path = call["path"]
        if call["main"]:
            from multiprocessing import spawn
            sys._dlaunch_imports_main = True
            spawn.prepare(call["main"])  # imports the caller's main module as __mp_main__
            sys._dlaunch_imports_main = False
        function, args, kwargs = pickle.loads(call["function"])
        value = function(*args, **kwargs)
        data = pickle.dumps(value)
        if len(data) > call["limit"]:
            raise ValueError("the value has {} bytes, the limit is {}".format(len(data), call["limit"]))
        kind, code = "value", 0
    except BaseException as error:
        # The first entries are lines of this program.
        stack = traceback.TracebackException.from_exception(error)
        del stack.stack[:1]
        name = type(error).__module__ + "." + type(error).__qualname__
        try:
            text = str(error)
        except Exception:
            text = "(its text is not available: __str__ failed)"
        data = json.dumps([name.replace("builtins.", "", 1), text, "".join(stack.format())]).encode()
        kind = "error"
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass  # the function closed or replaced the stream
    send(out, call["mark"], kind, data)
    return code


if __name__ == "__main__":
    sys.exit(main())
