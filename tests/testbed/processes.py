"""Which processes are on a host: those in its network namespace. They are seen from outside, so a host that nobody can
reach is counted too."""
import contextlib
import os
import pathlib


def namespace_of(pid, kind="net"):
    """None when the process is gone."""
    with contextlib.suppress(OSError):
        return os.readlink(f"/proc/{pid}/ns/{kind}")
    return None


def command_line(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def state_of(pid):
    """As ps shows it: S, T, Z, ...; None when it is gone."""
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    return None


def of_namespaces(wanted):
    """{namespace: {pid: command line}} of all that live; a zombie has no namespace."""
    found = {namespace: {} for namespace in wanted}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        namespace = namespace_of(pid)
        if namespace in found:
            found[namespace][int(pid)] = command_line(pid)
    return found
