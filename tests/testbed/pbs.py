"""A fake PBS for a testbed, whose head is the first host of the job: pbs_tmrsh, pbsdsh, and aprun of PALS.

It follows pbs_tmrsh.c, pbsdsh.c and start_exec.c of openpbs (commit cd7ab5ed) in these points: a host is a line of
PBS_NODEFILE, otherwise the error is "is not a node in job" and the code 255; a task runs the words unchanged, without a
shell; its stdin is /dev/null, its stdout and stderr are the output of the job, its environment is that of the job, not
of the caller, and its directory is the home. MoM starts the task, so the task outlives its caller, and reports the exit
code. qdel ends the session of a task by SIGTERM, then by SIGKILL. pbsdsh -n counts lines.

aprun follows plm_pals of PRRTE (commit 52d5e4bb): -n N -N 1 --cc none -L n1,n2. The first task gets the stdin of aprun,
the others an empty one; stdout and stderr go through aprun; PALS_NODEID numbers the hosts of the list; tasks end with
aprun.

    with Testbed(2) as bed, Pbs(bed, ["head", "node1", "node2"]) as pbs:
        bed.head.run(["pbs_tmrsh", "node1", "hostname"], env=pbs.environment())"""
import contextlib
import json
import os
import signal
import socket
import subprocess
import threading
import time

ASK = """\
#!/usr/bin/python3 -B
import json, os, socket, sys

words, lines = sys.argv[1:], open(os.environ["PBS_NODEFILE"]).read().split()
name = os.path.basename(sys.argv[0])


def usage():
    print(f"{{name}}: usage", file=sys.stderr)
    sys.exit(255)


if not os.environ.get("PBS_ENVIRONMENT") or not os.environ.get("PBS_JOBID"):
    print(f"{{name}}: not executing under PBS", file=sys.stderr)
    sys.exit(1)
if name == "pbsdsh":
    if words[:1] != ["-n"] or words[2:3] != ["--"]:
        usage()
    line, words = int(words[1]), words[3:]
else:
    if not words or words[0].startswith("-"):
        usage()
    if words[0] not in lines:
        print(f"{{name}}: host \\"{{words[0]}}\\" is not a node in job <{{os.environ['PBS_JOBID']}}>", file=sys.stderr)
        sys.exit(255)
    line, words = lines.index(words[0]), words[1:]
if not words:
    usage()
mom = socket.socket(socket.AF_UNIX)
mom.connect({socket!r})
mom.sendall(json.dumps([line, lines[line], words]).encode() + b"\\n")
sys.exit(int(mom.makefile().readline() or 254))
"""

APRUN = """\
#!/usr/bin/python3 -B
import os, signal, subprocess, sys

ENTER = {enter!r}
words = sys.argv[1:]
assert words[0] == "-n" and words[2:6] == ["-N", "1", "--cc", "none"] and words[6] == "-L", words
hosts, words = words[7].split(","), words[8:]
assert int(sys.argv[2]) == len(hosts)
for host in hosts:
    if host not in ENTER:
        print(f"aprun: host {{host}} is not in the job", file=sys.stderr)
        sys.exit(1)
tasks = []
for number, host in enumerate(hosts):
    places = dict(PALS_APID="5", PALS_NODEID=str(number), PALS_RANKID=str(number), PALS_LOCAL_RANKID="0")
    tasks.append(subprocess.Popen([*ENTER[host], *words], env=os.environ | places, stdin=None if number == 0 else subprocess.DEVNULL))
signal.signal(signal.SIGTERM, lambda *_: [task.terminate() for task in tasks])
sys.exit(max(task.wait() if task.wait() >= 0 else 128 - task.returncode for task in tasks))
"""

# Runs a command in the namespaces of a host; the command ends with its parent.
DIE_WITH_PARENT = ["setpriv", "--pdeathsig", "KILL"]


class Pbs:
    """`lines`: the names in PBS_NODEFILE. `programs`: the available programs of pbs_tmrsh, pbsdsh and aprun."""

    def __init__(self, bed, lines, programs=("pbs_tmrsh",)):
        self.bed, self.lines, self.programs = bed, lines, programs
        self.dir = bed.dir / "pbs"
        self.shared = bed.dir / "shared home"  # on a disk of all hosts
        self.output = self.dir / "job.o12"
        self.tasks = []
        self._threads = []

    def __enter__(self):
        self.dir.mkdir()
        self.shared.mkdir(mode=0o700)
        self.output.touch()
        (self.dir / "nodes").write_text("".join(f"{line}\n" for line in self.lines))
        for program in self.programs:
            file = self.dir / program
            enter = {name: [*DIE_WITH_PARENT, *host.command([])] for name, host in self.bed.hosts.items()}
            file.write_text(APRUN.format(enter=enter) if program == "aprun" else ASK.format(socket=str(self.dir / "mom")))
            file.chmod(0o755)
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(self.dir / "mom"))
        self._listening.listen(64)
        self._thread(self._listen)
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """May be called twice."""
        self._signal(signal.SIGKILL)
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)
        self._listening.close()

    def environment(self):
        """The environment of the job's script."""
        return {"PBS_ENVIRONMENT": "PBS_BATCH", "PBS_JOBID": "12.server", "PBS_NODEFILE": str(self.dir / "nodes"), "PBS_NODENUM": "0",
                "PBS_TASKNUM": "1", "PBS_JOBCOOKIE": "5EC7E7", "PATH": f"{self.dir}:{os.environ['PATH']}", "XDG_CACHE_HOME": str(self.shared)}

    def qdel(self):
        """Ends the tasks; their sessions get SIGTERM first."""
        self._signal(signal.SIGTERM)
        deadline = time.monotonic() + 5
        while any(task.poll() is None for task in self.tasks) and time.monotonic() < deadline:
            time.sleep(0.05)
        self._signal(signal.SIGKILL)

    def _thread(self, function, *arguments):
        thread = threading.Thread(target=function, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _listen(self):
        with contextlib.suppress(OSError):
            while True:
                self._thread(self._serve, self._listening.accept()[0])

    def _serve(self, client):
        """Does MoM's part of a task."""
        with client, self.output.open("ab") as output, contextlib.suppress(OSError):
            line, name, words = json.loads(client.makefile().readline())
            own = {"PBS_ENVIRONMENT": "PBS_BATCH", "PBS_JOBID": "12.server", "PBS_NODEFILE": f"/var/spool/pbs/aux/{name}",
                   "PBS_NODENUM": str(line), "PBS_TASKNUM": str(line + 20), "PBS_JOBCOOKIE": "5EC7E7", "PATH": "/usr/bin:/bin"}
            task = subprocess.Popen(self.bed.hosts[name].command(words), env=own, cwd="/root", stdin=subprocess.DEVNULL,
                                    stdout=output, stderr=output, start_new_session=True)
            self.tasks.append(task)
            code = task.wait()
            client.sendall(f"{code if code >= 0 else 128 - code}\n".encode())

    def _signal(self, number):
        """Signals each process of the tasks' sessions."""
        sessions = {task.pid for task in self.tasks if task.poll() is None}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(ProcessLookupError):
                if os.getsid(int(pid)) in sessions:
                    os.kill(int(pid), number)
