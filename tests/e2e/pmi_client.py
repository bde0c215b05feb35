"""Test clients for PMI-1 and PMI-2, used by the programs in the tests."""
PYTHON = "/usr/bin/python3"
CLIENT = r"""
import os, socket, sys, time
rank, size = int(os.environ["PMI_RANK"]), int(os.environ["PMI_SIZE"])
pmi = socket.socket(fileno=int(os.environ["PMI_FD"]))
file = pmi.makefile("r", newline="\n")
def say(text):
    pmi.sendall(text.encode() if isinstance(text, str) else text)
def ask(line):
    say(line + "\n")
    return file.readline()
def init():
    assert ask("cmd=init pmi_version=1 pmi_subversion=1") == "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"
    return ask("cmd=get_my_kvsname").split("kvsname=")[1].strip()
def barrier():
    return ask("cmd=barrier_in")
def spawn(*programs, preput=()):
    # Each is (count, argv, info).
    text = ""
    for number, (count, argv, info) in enumerate(programs, 1):
        text += f"mcmd=spawn\nnprocs={count}\nexecname={argv[0]}\ntotspawns={len(programs)}\nspawnssofar={number}\n"
        text += "".join(f"arg{n}={word}\n" for n, word in enumerate(argv[1:], 1)) + f"argcnt={len(argv) - 1}\n"
        for word, pairs in (("preput", preput), ("info", info)):
            text += f"{word}_num={len(pairs)}\n"
            text += "".join(f"{word}_key_{n}={key}\n{word}_val_{n}={value}\n" for n, (key, value) in enumerate(pairs))
        text += "endcmd\n"
    say(text)
    return file.readline()
def tell_pid():
    with open(f"pid.{rank}.new", "w") as told: told.write(str(os.getpid()))
    os.rename(f"pid.{rank}.new", f"pid.{rank}")
def until_ended(*others):
    # Until these processes, whose pids are known, have ended and are reaped.
    for other in others:
        while not os.path.exists(f"pid.{other}"): time.sleep(0.02)
        while os.path.exists("/proc/" + open(f"pid.{other}").read()): time.sleep(0.02)
def lookup(service):
    while True:
        found = ask(f"cmd=lookup_name service={service}")
        if "rc=0" in found: return found.split("port=")[1].split()[0]
        time.sleep(0.02)
def finalize():
    assert ask("cmd=finalize") == "cmd=finalize_ack\n"
"""


FRAMES = r"""
import os, socket, sys, time
rank, size = int(os.environ["PMI_RANK"]), int(os.environ["PMI_SIZE"])
pmi = socket.socket(fileno=int(os.environ["PMI_FD"]))
file = pmi.makefile("rb")
def frame(text):
    return b"%6d" % len(text) + text.encode()
def say(text):
    pmi.sendall(frame(text))
def heard():
    length = file.read(6)
    return file.read(int(length)).decode() if length else ""
def ask(text):
    say(text)
    return heard()
def value(text, key):
    answer = ask(text).replace(";;", "\0")
    return dict(pair.split("=", 1) for pair in answer.split(";") if pair)[key].replace("\0", ";")
def init(spawner=None):
    pmi.sendall(b"cmd=init pmi_version=2 pmi_subversion=0\n")
    assert file.readline() == b"cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n"
    answer = ask(f"cmd=fullinit;pmirank={rank};threaded=FALSE;")
    assert f";rank={rank};size={size};" in answer
    assert ("spawner-jobid" in answer) == bool(spawner) and (not spawner or f";spawner-jobid={spawner};" in answer), answer
def spawn(*programs, preput=()):
    # Each is (count, argv, info).
    def counted(count, pairs, words):
        text = [f"{count}={len(pairs)};"]
        for n, pair in enumerate(pairs):
            text += [f"{word}{n}={one};".replace(";", ";;")[:-1] for word, one in zip(words, pair)]
        return "".join(text)
    text = f"cmd=spawn;thrid=0x12;ncmds={len(programs)};" + counted("preputcount", preput, ("ppkey", "ppval"))
    for count, argv, info in programs:
        text += f"subcmd={argv[0]};maxprocs={count};" + counted("argc", [(word,) for word in argv[1:]], ("argv",))
        text += counted("infokeycount", info, ("infokey", "infoval")) if info else ""
    return ask(text)
def finalize():
    assert ask("cmd=finalize;") == "cmd=finalize-response;rc=0;"
"""


def frame_client(script):
    """The command line of a rank that runs `script` as a PMI-2 client."""
    return [PYTHON, "-c", FRAMES + script]


def client(script):
    """The command line of a rank that runs `script` as a PMI-1 client."""
    return [PYTHON, "-c", CLIENT + script]


def one_line(script, words=client):
    """The same command line without a newline, as PMI-1 requires for a spawned program."""
    return [PYTHON, "-c", f"exec(bytes.fromhex('{words(script)[2].encode().hex()}'))"]
