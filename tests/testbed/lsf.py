"""A fake blaunch of LSF for a testbed, whose head is the first host of the job. It follows blaunch(8) of LSF 10.1 and
the notes on the job environment of Spectrum LSF in these points: the arguments of rsh, with -n as the only option; only
hosts of the job; the words, joined with blanks, run in a shell there; the caller's environment; stdin is forwarded
except with -n; stdout and stderr are separate; the exit code of the command. The tasks of a host have the GPU variables
of that host. blaunch relays the streams. SIGTERM is forwarded; SIGKILL is not, and then the streams end.

    with Testbed(2) as bed:
        lsf = Lsf(bed, {"head": 1, "node1": 2})
        bed.head.run(["blaunch", "node1", "hostname"], env=lsf.environment())"""
import os

SCRIPT = """\
#!/usr/bin/python3 -B
import os, signal, subprocess, sys, threading

ENTER = {enter!r}
words = sys.argv[1:]
silent = words[:1] == ["-n"]
words = words[silent:]
if len(words) < 2 or words[0].startswith("-"):
    sys.exit("blaunch: usage")
if words[0] not in os.environ["LSB_MCPU_HOSTS"].split()[::2] or words[0] not in ENTER:
    print(f"blaunch: {{words[0]}}: Host is not allocated for this job", file=sys.stderr)
    sys.exit(255)
task = subprocess.Popen([*ENTER[words[0]], "sh", "-c", " ".join(words[1:])], stdin=subprocess.DEVNULL if silent else subprocess.PIPE,
                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
signal.signal(signal.SIGTERM, lambda *_: os.killpg(task.pid, signal.SIGTERM))


def relay(source, target):
    try:
        while data := os.read(source, 1 << 16):
            while data:
                data = data[os.write(target, data):]
    except OSError:
        pass
    os.close(source)
    os.close(target)


if not silent:
    writer = os.dup(task.stdin.fileno())
    task.stdin.close()
    threading.Thread(target=relay, args=(0, writer), daemon=True).start()
back = [threading.Thread(target=relay, args=(os.dup(source.fileno()), target)) for source, target in ((task.stdout, 1), (task.stderr, 2))]
for each in back:
    each.start()
code = task.wait()
for each in back:
    each.join()
os._exit(code if code >= 0 else 128 - code)
"""


class Lsf:
    """`slots`: {host name: slots}, in the job's order. `gpus`: {host name: {variable: list}}."""

    def __init__(self, bed, slots, gpus=None):
        self.dir = bed.dir / "lsf"
        self.dir.mkdir(exist_ok=True)
        self.slots, self.gpus = slots, gpus or {}
        program = self.dir / "blaunch"
        program.write_text(SCRIPT.format(enter={name: host.command([f"{variable}={those}" for variable, those in self.gpus.get(name, {}).items()])
                                                for name, host in bed.hosts.items()}))
        program.chmod(0o755)

    def environment(self):
        return self.gpus.get("head", {}) | {"LSF_BINDIR": str(self.dir), "LSB_JOBID": "12", "PATH": f"{self.dir}:{os.environ['PATH']}",
                "LSB_MCPU_HOSTS": " ".join(f"{name} {slots}" for name, slots in self.slots.items()) + " "}
