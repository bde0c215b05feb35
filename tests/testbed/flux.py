"""A fake Flux for a testbed: an instance whose first broker is on the head, with flux kvs get resource.R, flux getattr
and flux exec. It follows flux-exec(1), flux-environment(7) and RFC 20 in these points: -r IDSET chooses brokers, "-d
DIR" their directory; stdin is broadcast; stdout and stderr are forwarded line by line; each task gets the caller's
environment and the FLUX_URI of its own broker; the exit code is the largest one, 128+n for a signal, 68 for an unknown
rank; SIGTERM and SIGINT are forwarded; if flux exec is killed, the broker kills its tasks.

    with Testbed(2) as bed:
        flux = Flux(bed, ["head", "node1", "node2"], cores=2)
        bed.head.run(["flux", "exec", "-r", "1-2", "hostname"], env=flux.environment())"""
import json
import os

SCRIPT = """\
#!/usr/bin/python3 -B
import os, signal, subprocess, sys, threading

ENTER, NAMES, R = {enter!r}, {names!r}, {r!r}
words = sys.argv[1:]
if not os.environ.get("FLUX_URI"):
    print("flux-" + words[0] + ": ERROR: Unable to connect to Flux: broker socket was not found", file=sys.stderr)
    sys.exit(1)
if words == ["kvs", "get", "resource.R"]:
    print(R)
    sys.exit(0)
if words == ["getattr", "rank"]:
    print(os.environ["FLUX_URI"].rsplit("-", 1)[1])
    sys.exit(0)
assert words[:2] == ["exec", "-r"] and words[3:5] == ["-d", "/"], words
ranks = []
for part in words[2].split(","):
    first, _, last = part.partition("-")
    ranks += range(int(first), int(last or first) + 1)
words = words[5:]
for rank in ranks:
    if rank >= len(NAMES):
        print(f"flux-exec: Error: rank {{rank}}: No route to host", file=sys.stderr)
        sys.exit(68)
tasks = []
for rank in ranks:
    uri = dict(FLUX_URI=f"local:///run/flux/local-{{rank}}")
    tasks.append(subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *ENTER[NAMES[rank]], *words], env=os.environ | uri, cwd="/",
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, lambda number, _: [task.send_signal(number) for task in tasks])
write = threading.Lock()


def by_lines(source, target):
    for line in source:
        with write:
            os.write(target, line)


def broadcast():
    try:
        while data := os.read(0, 1 << 16):
            for task in tasks:
                task.stdin.write(data)
                task.stdin.flush()
    except OSError:
        pass
    for task in tasks:
        try:
            task.stdin.close()
        except OSError:
            pass


threading.Thread(target=broadcast, daemon=True).start()
back = [threading.Thread(target=by_lines, args=pair) for task in tasks for pair in ((task.stdout, 1), (task.stderr, 2))]
for each in back:
    each.start()
codes = [task.wait() for task in tasks]
for each in back:
    each.join()
os._exit(max(code if code >= 0 else 128 - code for code in codes))
"""


class Flux:
    """`names`: the hosts of brokers 0, 1, …"""

    def __init__(self, bed, names, cores=2, gpus=None):
        self.dir = bed.dir / "flux"
        self.dir.mkdir()
        children = {"core": f"0-{cores - 1}"} | ({"gpu": gpus} if gpus else {})
        r = {"version": 1, "execution": {"R_lite": [{"rank": f"0-{len(names) - 1}", "children": children}], "nodelist": names,
                                         "starttime": 0, "expiration": 0}}
        program = self.dir / "flux"
        enter = {name: host.command([]) for name, host in bed.hosts.items()}
        program.write_text(SCRIPT.format(enter=enter, names=names, r=json.dumps(r)))
        program.chmod(0o755)

    def environment(self):
        return {"FLUX_URI": "local:///run/flux/local-0", "PATH": f"{self.dir}:{os.environ['PATH']}"}
