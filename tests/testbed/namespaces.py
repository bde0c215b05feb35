"""The system calls of Linux namespaces that Python 3.9 lacks. A Host's process enters its own namespaces before it
starts anything; no other module of the testbed calls libc."""
import ctypes
import os
import pathlib
import signal

NEWNS, NEWUTS, NEWIPC, NEWPID, NEWNET = 0x00020000, 0x04000000, 0x08000000, 0x20000000, 0x40000000
_MS_BIND, _MS_REC, _MS_PRIVATE, _MS_NOSUID, _MS_NODEV = 0x1000, 0x4000, 0x40000, 2, 4
_PR_SET_PDEATHSIG = 1

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result, what):
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def unshare(flags):
    _check(_libc.unshare(flags), "unshare")


def setns(fd):
    _check(_libc.setns(fd, 0), "setns")


def set_host_name(name):
    _check(_libc.sethostname(name.encode(), len(name.encode())), "sethostname")


def die_with_parent():
    _check(_libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl")


def _mount(source, target, kind, flags, data=""):
    _check(_libc.mount(source.encode(), str(target).encode(), kind and kind.encode(), ctypes.c_ulong(flags), data.encode()),
           f"mount {target}")


def keep_mounts_private():
    _mount("none", "/", None, _MS_REC | _MS_PRIVATE)


def mount_tmpfs(target, mode="0755"):
    _mount("tmpfs", target, "tmpfs", _MS_NOSUID | _MS_NODEV, f"mode={mode}")


def hide(target, mode="0755", keep=()):
    """Mounts an empty tmpfs over `target`. Directories of `keep` below it stay visible at their paths."""
    kept = [(path, os.open(path, os.O_PATH | os.O_CLOEXEC)) for path in map(pathlib.Path, keep)
            if path.is_relative_to(target) and path.is_dir()]
    mount_tmpfs(target, mode)
    for path, fd in kept:
        path.mkdir(parents=True, exist_ok=True)
        bind(f"/proc/self/fd/{fd}", path)
        os.close(fd)


def mount_proc():
    _mount("proc", "/proc", "proc", _MS_NOSUID | _MS_NODEV)


def bind(source, target):
    _mount(str(source), target, None, _MS_BIND)


def fork_first_process():
    """Like os.fork(), but the child is process 1 of a new process namespace. The parent stays in its own namespace."""
    ours = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    unshare(NEWPID)
    try:
        pid = os.fork()
    except OSError:
        pid = None
    if pid != 0:
        setns(ours)
    os.close(ours)
    if pid is None:
        raise OSError("fork failed")
    return pid
