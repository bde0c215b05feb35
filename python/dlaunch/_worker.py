# The program of each rank of dlaunch.call(). Python reads this source from its command line (-c): the hosts need no
# package of dlaunch. A variable or stdin has the call; the values go to stdout in lines that begin with a mark.
import base64
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
    out = os.dup(1)
    code = 1
    try:
        sys.argv = call["argv"]
        sys.path = call["path"]
        if call["main"]:
            from multiprocessing import spawn
            spawn.prepare(call["main"])  # imports the caller's main module as __mp_main__
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
        data = json.dumps([name.replace("builtins.", "", 1), str(error), "".join(stack.format())]).encode()
        kind = "error"
    sys.stdout.flush()
    sys.stderr.flush()
    send(out, call["mark"], kind, data)
    return code


if __name__ == "__main__":
    code = main()
    sys.exit(code)
