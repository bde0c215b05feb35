"""Starts dlaunch, and finds the processes of a host: those in its network namespace. They are visible from outside, so an
unreachable host is covered, too."""
import contextlib
import os
import pathlib
import signal
import subprocess


class Job(subprocess.Popen):
    """returncode is the exit code that a shell shows: 130 after SIGINT. `died_of`: the signal that ended the process, or 0.
    After SIGKILL, returncode is -9."""
    died_of = 0

    @property
    def returncode(self):
        return self._returncode

    @returncode.setter
    def returncode(self, code):
        if code in (-signal.SIGINT, -signal.SIGQUIT, -signal.SIGTERM, -signal.SIGHUP):
            self.died_of, code = -code, 128 - code
        self._returncode = code


def namespace_of(pid, kind="net"):
    """The namespace of a process; None if it has ended."""
    with contextlib.suppress(OSError):
        return os.readlink(f"/proc/{pid}/ns/{kind}")
    return None


def command_line(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def state_of(pid):
    """The state as ps prints it (S, T, Z, …); None if the process has ended."""
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    return None


def of_namespaces(wanted):
    """{namespace: {pid: command line}} of all running processes; a zombie has no namespace."""
    found = {namespace: {} for namespace in wanted}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        namespace = namespace_of(pid)
        if namespace in found:
            found[namespace][int(pid)] = command_line(pid)
    return found
