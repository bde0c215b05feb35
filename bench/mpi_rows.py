"""The rows of MPI: init, a barrier, finalize (mpi_start.c), on this machine and on hosts of tests/testbed.

Each library is compared with its own launcher. MPI ranks spin while they wait, so more ranks than CPUs are slow under
any launcher.
"""
import subprocess

from rows import Contestant, Goal, Row

RANKS = (2, 8, 32, 64)
HOSTS = {"mpich": (4, 8), "openmpi": (4, 16)}
# MPICH 4.0.2 over UCX and TCP hangs in MPI_Finalize under any launcher (docs/mpi.md): always on 16 hosts of this
# testbed, sometimes on fewer hosts. MPICH_ENV and ROUNDS make hangs rare; a hung run is repeated.
MPICH_ENV = ("UCX_TCP_PUT_ENABLE", "n")
ROUNDS = 5
TRIES = 4
LIMIT = 15  # seconds of a run over hosts


class Library:
    """An MPI library: its column, its program, and the name of its launcher."""

    def __init__(self, key, name, column, program):
        self.key, self.name, self.column, self.program = key, name, column, program


def libraries(launchers, programs, notes):
    """The libraries that can be compared here. `notes` gets the reasons for the other libraries."""
    known = [Library("mpich", "MPICH", "Hydra", programs["mpi_start_mpich"]),
             Library("openmpi", "Open MPI", "Open MPI", programs["mpi_start_openmpi"])]
    there = {"Hydra": launchers.hydra, "Open MPI": launchers.mpirun}
    for library in known:
        why = why_not(library, launchers, there[library.column])
        if why:
            notes.append(f"Skipped the rows of {library.name}: {why}.")
        else:
            yield library


def why_not(library, launchers, own_launcher):
    if not library.program:
        return f"mpicc.{library.key}: not found"
    if not own_launcher or not launchers.dlaunch:
        return "missing launcher"
    try:
        one_world = subprocess.run([launchers.dlaunch, "-n", "2", library.program, "2"], stdin=subprocess.DEVNULL,
                                   capture_output=True, timeout=60, check=False)
    except subprocess.TimeoutExpired:
        return "timed out after 60 s under dlaunch"
    return "each rank is a separate world under dlaunch" if one_world.returncode else None


def mpi_rows(launchers, known):
    for library in known:
        for ranks in RANKS:
            argv = launchers.plain(ranks, [library.program, str(ranks)])
            contestants = {column: Contestant(argv[column]) for column in ("dlaunch", library.column)}
            yield Row(key=f"{library.key}-{ranks}", title=f"{library.name}: init, barrier, finalize, {ranks} ranks",
                      contestants=contestants, goal=Goal(library.column, 0.8), rounds=10 if ranks < 32 else 5,
                      limit=120)


def mpi_ssh_rows(ways, known):
    """One rank per host."""
    name, value = MPICH_ENV
    for library in known:
        mpich = library.key == "mpich"
        exchanges = f"{ROUNDS} exchanges, " if mpich else ""
        for count in HOSTS[library.key]:
            found = ways.to(count, [library.program, str(count), *([str(ROUNDS)] if mpich else [])],
                            own=["-x", f"{name}={value}"] if mpich else (),
                            hydra=["-genv", name, value] if mpich else ())
            yield Row(key=f"ssh-{library.key}-{count}",
                      title=f"{library.name}: init, barrier, {exchanges}finalize on {count} hosts over ssh",
                      contestants={column: found[column] for column in ("dlaunch", library.column)},
                      goal=Goal(library.column, 0.7), hosts=count, rounds=5, limit=LIMIT, tries=TRIES if mpich else 1)
