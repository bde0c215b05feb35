"""A real Grid Engine on a testbed: its qmaster on the head, an execd on each host, all in the testbed's namespaces. The
daemons end with the processes of their hosts, so no process is left, however a test ends.

    with Testbed(2) as bed, GridEngine(bed) as engine, engine.submit(slots=4) as job:
        bed.head.run([*job.enter, "env"])

The script of a job runs commands on request: `job.enter` is a command line on the head that runs further words as
children of the script, on the first host of the job, with the caller's descriptors 0, 1 and 2."""
import array
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid

SLOTS = 64
START_TIMEOUT = 120
PROGRAMS = pathlib.Path("/usr/lib/gridengine")
SHARED = pathlib.Path("/usr/share/gridengine")
MACHINE = "lx-amd64"
PARALLEL = """\
pe_name            {name}
slots              999
user_lists         NONE
xuser_lists        NONE
start_proc_args    NONE
stop_proc_args     NONE
allocation_rule    {rule}
control_slaves     {tight}
job_is_first_task  {first}
urgency_slots      min
accounting_summary FALSE
qsort_args         NONE
"""
MASTER, WORKER = "sge_qmaster", "sge_execd"
# The host's Python; this interpreter may be in a home directory.
PYTHON = ("/usr/bin/env", "python3", "-B", os.path.abspath(__file__))


def why_not():
    """The reason why Grid Engine cannot run here, or None."""
    missing = [tool for tool in (MASTER, WORKER, "qrsh", "spoolinit") if not (PROGRAMS / tool).exists()]
    packages = "apt-get install gridengine-master gridengine-exec gridengine-client"
    return f"no {', '.join(missing)} ({packages})" if missing else None


class GridEngine:
    def __init__(self, bed):
        self.bed = bed
        self.dir = bed.dir / "sge"
        self.daemons = []

    def __enter__(self):
        self._make_root()
        self._start(self.bed.head, MASTER)
        self.until(lambda: self._done("qconf", "-sh"), "its qmaster does not answer")
        self._configure()
        for host in self.bed.hosts.values():
            self._start(host, WORKER)
        up = re.compile(rf"[0-9] +{MACHINE} *$", re.MULTILINE)
        self.until(lambda: len(up.findall(self.tell("qstat", "-f"))) == len(self.bed.hosts), "its hosts are not up")
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """May be called twice. Jobs and daemons end at once, with all processes of their hosts."""
        for host in [*self.bed.hosts.values(), self.bed.head]:
            for pid, line in host.processes().items():
                if any(words in line for words in host.daemons):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
        for daemon in self.daemons:
            daemon.wait(START_TIMEOUT)
        self.daemons = []

    def environment(self):
        """The variables that user commands of Grid Engine require."""
        return {"PATH": f"{PROGRAMS}:{os.environ['PATH']}", "SGE_ROOT": str(self.dir), "SGE_CELL": "default",
                "SGE_QMASTER_PORT": "16444", "SGE_EXECD_PORT": "16445"}

    def tell(self, *words):
        """Runs a command of Grid Engine on the head. Returns its stdout."""
        return self.bed.head.run(words, env=self.environment()).stdout

    def submit(self, slots, parallel="orte"):
        """Submits a job with `slots` slots. Its script may start later."""
        return Job(self, slots, parallel)

    def jobs(self):
        return [line.split()[0] for line in self.tell("qstat").splitlines()[2:]]

    def tasks(self):
        """The running tasks that qrsh has started in jobs, as directories of execds."""
        return [str(place) for place in self.dir.glob("spool/execd/*/active_jobs/*/*.*") if place.is_dir()]

    def _make_root(self):
        """Makes SGE_ROOT, with all files that can be written before the qmaster runs."""
        common, spool = self.dir / "default/common", self.dir / "spool"
        for place in (common, spool / "qmaster/job_scripts", spool / "execd", *(self.dir / name for name in ("bin", "lib", "utilbin"))):
            place.mkdir(parents=True)
        for name in ("bin", "lib", "utilbin"):
            (self.dir / name / MACHINE).symlink_to(PROGRAMS)
        (self.dir / "util").symlink_to(SHARED / "util")
        (common / "act_qmaster").write_text("head\n")
        spooling = f"{common};{spool}/qmaster"
        (common / "bootstrap").write_text(changed((SHARED / "default-bootstrap").read_text(), {
            "admin_user": "none", "spooling_method": "classic", "spooling_lib": "libspoolc", "spooling_params": spooling,
            "qmaster_spool_dir": f"{spool}/qmaster"}))
        configuration = changed((SHARED / "default-configuration").read_text(), {
            "execd_spool_dir": f"{spool}/execd", "min_uid": "0", "min_gid": "0", "load_report_time": "00:00:01",
            "reporting_params": "accounting=true reporting=false flush_time=00:00:01 accounting_flush_time=00:00:01 joblog=false sharelog=00:00:00"})
        (self.dir / "configuration").write_text(configuration)
        for words in (("spoolinit", "classic", "libspoolc", spooling, "init"),
                      ("spooldefaults", "configuration", str(self.dir / "configuration")),
                      ("spooldefaults", "complexes", str(SHARED / "util/resources/centry")),
                      ("spooldefaults", "usersets", str(SHARED / "util/resources/usersets")),
                      ("spooldefaults", "managers", "root"),
                      *(("spooldefaults", "adminhosts", name) for name in ("head", *self.bed.names))):
            self._must(*words)

    def _configure(self):
        self._must("qconf", "-as", ",".join(["head", *self.bed.names]))
        scheduler = changed(self.tell("qconf", "-ssconf"), {"schedule_interval": "0:0:1", "flush_submit_sec": "1", "flush_finish_sec": "1"})
        self._give("-Msconf", scheduler)
        self._give("-Ahgrp", f"group_name @allhosts\nhostlist {' '.join(self.bed.names)}\n")
        for name, tight, first in (("orte", "TRUE", "FALSE"), ("first", "TRUE", "TRUE"), ("loose", "FALSE", "FALSE")):
            self._give("-Ap", PARALLEL.format(name=name, rule="$round_robin", tight=tight, first=first))
        self._add_queue()

    def _add_queue(self):
        """Edits the template that qconf gives to an editor. Each host has its own tmpdir: hosts share /tmp, and the
        first task to end would remove the directory of the others."""
        for name in self.bed.names:
            (self.dir / "tmp" / name).mkdir(parents=True)
        places = "".join(f",[{name}={self.dir}/tmp/{name}]" for name in self.bed.names)
        changes = {"hostlist": "@allhosts", "slots": str(SLOTS), "load_thresholds": "NONE", "pe_list": "orte first loose",
                   "shell": "/bin/sh", "tmpdir": f"/tmp{places}"}
        script = "; ".join(f"s#^{name} .*#{name} {value}#" for name, value in changes.items())
        editor = self.dir / "editor"
        editor.write_text(f"#!/bin/sh\nexec sed -i -e '{script}' \"$1\"\n")
        editor.chmod(0o755)
        self._must("qconf", "-aq", "all.q", more={"EDITOR": str(editor)})

    def _give(self, option, text):
        """Runs a command of qconf that reads an object from a file."""
        place = self.dir / "given"
        place.write_text(text)
        self._must("qconf", option, str(place))

    def _must(self, *words, more=None):
        done = self.bed.head.run([str(PROGRAMS / words[0]), *words[1:]], env=self.environment() | (more or {}))
        if done.returncode != 0:
            raise RuntimeError(f"testbed: Grid Engine: {words}: {done.stdout}{done.stderr}")

    def _done(self, *words):
        return self.bed.head.run(words, env=self.environment()).returncode == 0

    def _start(self, host, program):
        host.daemons += [program, "sge_shepherd", f"{os.path.abspath(__file__)} --serve"]
        with open(self.dir / f"{host.name}.{program}.err", "wb") as errors:
            self.daemons.append(subprocess.Popen(host.command([str(PROGRAMS / program)]), env=self.environment() | {"SGE_ND": "true"},
                                                 stdin=subprocess.DEVNULL, stdout=errors, stderr=errors))

    def until(self, holds, otherwise):
        deadline = time.monotonic() + START_TIMEOUT
        while not holds():
            if time.monotonic() > deadline:
                logs = [*self.dir.glob("*.err"), *self.dir.glob("spool/*/messages"), *self.dir.glob("spool/execd/*/messages")]
                said = "".join(f"\n--- {log.name}\n{log.read_text(errors='replace')[-2000:]}" for log in logs)
                raise RuntimeError(f"testbed: Grid Engine: {otherwise}{said}")
            time.sleep(0.1)


def changed(text, values):
    """Replaces the values in lines `NAME VALUE`."""
    for name, value in values.items():
        text = re.sub(rf"^{name}(\s+).*$", lambda found, name=name, value=value: f"{name}{found[1]}{value}", text, flags=re.MULTILINE)
    return text


class Job:
    """A job whose script is this file: it serves a socket until the job ends."""

    def __init__(self, engine, slots, parallel):
        self.engine = engine
        place = engine.dir / "jobs"
        place.mkdir(exist_ok=True)
        self.socket = place / uuid.uuid4().hex
        self.number = engine.tell("qsub", "-terse", "-b", "y", "-shell", "n", "-pe", parallel, str(slots), "-j", "y", "-o", f"{self.socket}.said",
                                "-cwd", *PYTHON, "--serve", str(self.socket)).strip()

    @property
    def enter(self):
        """The command line that runs words in the job. Waits until the script runs."""
        self.engine.until(self.socket.exists, f"job {self.number} does not start")
        return [*PYTHON, "--in", str(self.socket)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.delete()

    def delete(self):
        """Returns before the job has ended. May be called twice."""
        self.engine.tell("qdel", self.number)

    def is_over(self):
        return self.number not in self.engine.jobs()


# ---- in a job ----

def serve(path):
    """Starts a child for each caller, with the caller's words, variables (the job's variables override them), directory
    and descriptors."""
    def run(caller):
        with caller:
            request, fds = receive(caller)
            child = subprocess.Popen(request["words"], env=request["env"] | dict(os.environ), cwd=request["cwd"], stdin=fds[0], stdout=fds[1],
                                     stderr=fds[2])
            for fd in fds:
                os.close(fd)
            caller.sendall(f"{child.wait()}\n".encode())

    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{path}.new")
        server.listen()
        os.rename(f"{path}.new", path)
        while True:
            threading.Thread(target=run, args=(server.accept()[0],), daemon=True).start()


def receive(caller):
    size = array.array("i").itemsize * 3
    data, ancillary, _, _ = caller.recvmsg(1 << 20, socket.CMSG_SPACE(size))
    fds = array.array("i", ancillary[0][2][:size])
    while not data.endswith(b"\n"):
        data += caller.recv(1 << 20)
    return json.loads(data), list(fds)


def enter(path, words):
    """Runs the words in the job. Returns their exit code."""
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(path)
        request = json.dumps({"words": words, "env": dict(os.environ), "cwd": os.getcwd()}).encode() + b"\n"
        fds = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))]
        sent = server.sendmsg([request], fds)
        if sent < len(request):  # a server that has the request may have closed its end already
            server.sendall(request[sent:])
        answer = server.makefile().readline()
    code = int(answer) if answer else 254  # the whole job has ended
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        serve(sys.argv[2])
    sys.exit(enter(sys.argv[2], sys.argv[3:]))
