"""Makes every system call fail once: for each process of a job, the n-th call of each name fails with each possible
errno of its manual page. The job must end in time, with a documented code and a reason; it must lose nothing if the
code is 0, and leave nothing. scripts/fail-calls runs this program in its own namespaces and prints a table of the
tested calls."""
import argparse
import collections
import errno
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import lines  # noqa: E402
from field import everyone  # noqa: E402
from promises import BROKEN_INSIDE  # noqa: E402
from processes import Job  # noqa: E402
from run_step import read_witness  # noqa: E402

ROLES = ("launcher", "starter", "guardian", "worker", "rank")
NO_FDS = ("EMFILE", "ENFILE")
KEPT = set(pathlib.Path("/tmp").iterdir())  # the checkout, if it is below /tmp
HALF = 0  # not an error: a read or write of half the bytes
ERRORS = {
    "openat": (*NO_FDS, "ENOMEM", "EACCES"), "read": ("EIO", "HALF"), "pread64": ("EIO",), "write": ("ENOSPC", "EIO", "HALF"),
    "read_stream": ("EINTR", "HALF"), "write_stream": ("EPIPE", "EINTR", "HALF"), "writev": ("EPIPE", "EIO", "ENOSPC", "EINTR"),
    "pipe2": NO_FDS, "socketpair": (*NO_FDS, "ENOMEM"), "socket": (*NO_FDS, "ENOMEM", "EAFNOSUPPORT"), "bind": ("EADDRINUSE", "EACCES"),
    "listen": ("EADDRINUSE",), "connect": ("ECONNREFUSED", "EINTR"), "accept4": (*NO_FDS, "ENOMEM", "ECONNABORTED", "EINTR"),
    "sendmsg": ("ENOBUFS", "ENOMEM", "EPIPE", "ETOOMANYREFS", "EINTR"), "recvmsg": ("ENOMEM", "ECONNRESET", "EINTR"),
    "sendto": ("ENOBUFS", "EPIPE", "EINTR"), "recvfrom": ("ENOMEM", "ECONNRESET", "EINTR"),
    "clone": ("EAGAIN", "ENOMEM"), "clone3": ("EAGAIN", "ENOMEM"), "execve": ("ENOMEM", "EACCES", "E2BIG", "ETXTBSY", "EIO"),
    "mmap": ("ENOMEM",), "epoll_create1": (*NO_FDS, "ENOMEM"), "epoll_ctl": ("ENOMEM", "ENOSPC"), "epoll_wait": ("EINTR",),
    "poll": ("EINTR", "ENOMEM"), "fcntl": ("EMFILE",), "dup": ("EMFILE",), "dup2": ("EBUSY",), "dup3": ("EBUSY",),
    "timerfd_create": (*NO_FDS, "ENOMEM"), "eventfd2": (*NO_FDS, "ENOMEM"), "signalfd4": (*NO_FDS, "ENOMEM"),
    "memfd_create": (*NO_FDS, "ENOMEM"), "ftruncate": ("EIO", "EINTR"), "fsync": ("EIO", "ENOSPC"), "getrandom": ("EINTR", "ENOSYS"),
    "ioctl": ("ENOTTY",), "wait4": ("EINTR",), "waitid": ("EINTR",), "pidfd_open": (*NO_FDS, "ENOMEM"),
    "pidfd_send_signal": ("ENOMEM",), "kill": ("EPERM",), "setsid": ("EPERM",), "prlimit64": ("EPERM",), "newfstatat": ("ENOMEM", "EACCES"),
    "getdents64": ("ENOENT",), "mkdir": ("ENOSPC", "EACCES"), "mkdirat": ("ENOSPC", "EACCES"), "unlink": ("EBUSY", "EIO"),
    "unlinkat": ("EBUSY", "EIO"), "rename": ("ENOSPC", "EIO"), "renameat": ("ENOSPC", "EIO"),
    "readlink": ("ENOMEM", "EIO"), "readlinkat": ("ENOMEM", "EIO"),
    "fchdir": ("ENOMEM", "EIO"), "symlinkat": ("ENOSPC",), "inotify_init1": NO_FDS, "inotify_add_watch": ("ENOSPC",),
    "chdir": ("ENOMEM", "EIO"), "sched_setaffinity": ("EINVAL",), "symlink": ("ENOSPC",), "chmod": ("EIO",), "fchmod": ("EIO",),
}
CODES = (0, 1, 2, 125, 126, 127, 141)  # exit codes of a job whose ranks would all end with 0
HANGS = 60
LINES, LENGTH = 20, 300
RANK = f"exec $PROGRAMS/numbered_lines $WITNESS {LINES} 1000 {LENGTH}"
JOBS = {
    "local": ["-n", "2", "sh", "-c", RANK],
    "files": ["-n", "2", "--output-filename", "logs", "--report", "report.json", "sh", "-c", RANK],
    "exec": ["--exec", "env X={host}", "-H", "elsewhere:2", "-n", "2", "--label", "sh", "-c", RANK],
    "dirs": ["-n", "2", "--rank-dir", "own{rank}", "--stdin", "all", "sh", "-c", RANK],
    "pty": ["-n", "2", "--pty", "--format", "jsonl", "sh", "-c", RANK],
}


class Runner:
    def __init__(self, job, dlaunch, programs):
        self.job, self.dlaunch, self.programs = job, dlaunch, programs
        self.before = set(everyone())

    def run(self, role, call="-", number=0, error=0):
        """Returns (exit code or None, stdout and stderr, seconds, notes, broken promises)."""
        directory = pathlib.Path(tempfile.mkdtemp(prefix="chaos-"))
        (directory / "witness").mkdir()
        notes = directory / "notes"
        env = {"PATH": os.environ["PATH"], "HOME": "/root", "WITNESS": str(directory / "witness"), "PROGRAMS": self.programs,
               "XDG_CACHE_HOME": "/tmp/chaos-cache"}
        words = [f"{self.programs}/fail_call", str(notes), role, call, str(number), str(error), self.dlaunch, "--grace", "1",
                 *JOBS[self.job]]
        out, err = directory / "out", directory / "err"
        start = time.monotonic()
        with open(out, "wb") as out_file, open(err, "wb") as err_file, \
                Job(words, env=env, cwd=directory, stdin=subprocess.DEVNULL, stdout=out_file, stderr=err_file) as job:
            while job.poll() is None and time.monotonic() < start + HANGS:
                time.sleep(0.005)
            code, took = job.poll(), time.monotonic() - start
            wrong = [] if code is not None else ["it hangs"]
            left = self.left_after(10) if code is not None else {}
            if left:
                wrong.append(f"left behind: {left}")
            job.kill()
        self.kill_left()
        told = err.read_bytes()
        wrong += self.judge(code, out.read_bytes(), told, read_witness(directory / "witness"), error, directory / "logs")
        wrong += [f"left behind: {path}" for path in self.files_left(directory)]
        said = notes.read_text() if notes.exists() else ""
        shutil.rmtree(directory)
        return code, told, took, said, wrong

    def new(self):
        return {pid: line for pid, line in everyone().items() if pid not in self.before and pid != os.getpid()}

    def left_after(self, seconds):
        until = time.monotonic() + seconds
        while (left := self.new()) and time.monotonic() < until:
            time.sleep(0.005)
        return left

    def kill_left(self):
        while left := self.new():
            for pid in left:
                try:
                    os.kill(pid, 9)
                except ProcessLookupError:
                    pass
            time.sleep(0.01)

    def files_left(self, directory):
        found = [path for path in pathlib.Path("/tmp").iterdir() if not path.name.startswith("chaos-") and path not in KEPT]
        found += pathlib.Path("/dev/shm").iterdir()
        known = {"witness", "notes", "out", "err", "logs", "report.json", "own0", "own1"}
        found += [path for path in directory.iterdir() if path.name not in known]
        for path in found:
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink()
        return found

    def judge(self, code, out, err, witness, error, logs):
        own = [line for line in err.decode(errors="replace").splitlines() if line.startswith("dlaunch")]
        if code is not None and code not in CODES:
            yield f"code {code}"
        if BROKEN_INSIDE.search(err):
            yield "it broke inside"
        if code == 0:
            if any(rank not in witness or witness[rank].code != 0 for rank in range(2)):
                yield f"code 0, but the ranks ended with {witness}"
            yield from self.lost(out, err, witness, logs)
        elif code is not None:
            quiet = code == 141 and error == errno.EPIPE  # the reader has closed its side, as any filter may
            if not quiet and not any(line.startswith("dlaunch: ") and not line.startswith("dlaunch: note: ") for line in own):
                yield f"code {code} without an error message"
            if error in (HALF, errno.EINTR):
                yield "a harmless error failed the job: the rest must be written or read later, or the call repeated"

    def lost(self, out, err, witness, logs):
        streams = lines.Streams(LENGTH)
        own = b"".join(line for line in err.splitlines(True) if not line.startswith(b"dlaunch: "))
        if self.job == "pty":
            streams.jsonl(out.replace(b"\\r", b""))
        elif self.job == "exec":
            streams.labelled(out)
            streams.labelled(own)
        else:
            streams.text(out)
            streams.text(own)
        for rank in witness:
            streams.missing(rank, LINES)
        yield from streams.wrong


def counts(said):
    words = [line.split() for line in said.splitlines() if line.startswith("count ")]
    return {word[1]: int(word[2]) for word in words}


def cases(job, counted, every):
    """(call, n, name of errno). The sample contains one call of each name with its first errno; for the job `exec` also
    the harmless errors; for `local` the first and the last call."""
    for call, count in sorted(counted.items()):
        sample = {"local": {1, count}, "exec": {count}}.get(job, {(count + 1) // 2})
        for number in range(1, count + 1) if every else sorted(sample):
            harmless = [error for error in ERRORS[call][1:] if error in ("EINTR", "HALF") and job == "exec"]
            for error in ERRORS[call] if every else (ERRORS[call][0], *harmless):
                yield call, number, error


def number_of(error):
    return HALF if error == "HALF" else getattr(errno, error)


def tell(job, role, call, number, error, seen):
    code, err, took, _, wrong = seen
    print(f"{job}: {call} {number} of the {role} fails with {error}: BROKEN; code {code} after {took:.2f} s")
    for text in wrong:
        print(f"  {text}")
    own = [line for line in err.decode(errors="replace").splitlines() if line.startswith("dlaunch")]
    print("".join(f"  said: {line}\n" for line in own[-6:]), end="")
    print(f"  dlaunch --grace 1 {shlex.join(JOBS[job])}")
    print(f"  once more: scripts/fail-calls --job {job} --role {role} --call {call} --number {number} --error {error}", flush=True)


def main():
    parser = argparse.ArgumentParser(prog="scripts/fail-calls", description=__doc__)
    parser.add_argument("--all", action="store_true", help="test every call with every errno, not a sample")
    parser.add_argument("--job", action="append", choices=JOBS)
    parser.add_argument("--list-jobs", action="store_true", help="print only the names of the jobs")
    parser.add_argument("--role", action="append", choices=ROLES)
    parser.add_argument("--call", action="append")
    parser.add_argument("--number", type=int)
    parser.add_argument("--error")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    if arguments.list_jobs:
        print("\n".join(JOBS))
        return 0
    # A shell's background job ignores SIGINT, and the jobs would inherit this.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    dlaunch, programs = os.environ["DLAUNCH"], os.environ["PROGRAMS"]
    tried, bad = collections.Counter(), 0
    codes = collections.defaultdict(collections.Counter)
    for job in arguments.job or JOBS:
        runner = Runner(job, dlaunch, programs)
        for role in arguments.role or ROLES:
            counted = counts(runner.run(role)[3])
            chosen = cases(job, counted, arguments.all or arguments.call)
            for call, number, error in chosen:
                if arguments.call and call not in arguments.call or arguments.number and number != arguments.number \
                        or arguments.error and error != arguments.error:
                    continue
                seen = runner.run(role, call, number, number_of(error))
                if "hit" not in seen[3]:
                    continue
                tried[role, call] += 1
                codes[role, call][seen[0]] += 1
                if arguments.verbose:
                    print(job, role, call, number, error, seen[0], f"{seen[2]:.2f}", seen[1][-200:], flush=True)
                if seen[4]:
                    bad += 1
                    tell(job, role, call, number, error, seen)
    print(f"{'process':10} {'call':16} {'tried':>6}  exit codes")
    for (role, call), count in sorted(tried.items()):
        print(f"{role:10} {call:16} {count:6}  " + ", ".join(f"{code}: {n}" for code, n in sorted(codes[role, call].items(), key=str)))
    print(f"{sum(tried.values())} calls failed, {bad} broke a promise")
    return 1 if bad or not tried else 0


if __name__ == "__main__":
    sys.exit(main())
