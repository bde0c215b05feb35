"""A real Slurm on a testbed: slurmctld and munged on its head, a slurmd on each host, all in the testbed's namespaces.
The daemons end with the processes of their hosts and with this process, so no process is left, however a test ends.

    with Testbed(2) as bed, Slurm(bed) as slurm:
        bed.head.run(["srun", "-N2", "hostname"], env=slurm.environment())

Each node has CPUS processors and GPUS devices, regardless of the machine."""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import namespaces

CPUS, GPUS = 8, 4
START_TIMEOUT = 120
CGROUPS = pathlib.Path("/sys/fs/cgroup")
CONSTRAINTS = {"Cores": "cpuset", "RAMSpace": "memory", "Devices": "devices"}  # of cgroup.conf, and their controllers
CONFIGURATION = """\
ClusterName=testbed
SlurmctldHost=head({address})
SlurmctldPort=7817
SlurmdPort=7818
AuthType=auth/munge
AuthInfo=socket={dir}/munge/socket
SlurmUser=root
SlurmdUser=root
StateSaveLocation={dir}/state
SlurmdSpoolDir={dir}/spool/%n
SlurmctldLogFile={dir}/log/slurmctld
SlurmdLogFile={dir}/log/%n
SlurmctldPidFile={dir}/slurmctld.pid
SlurmdPidFile={dir}/%n.pid
ProctrackType=proctrack/{proctrack}
TaskPlugin=task/{task}
MpiDefault=none
ReturnToService=2
SchedulerType=sched/{scheduler}
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
DefMemPerCPU=100
SlurmdParameters=config_overrides
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
KillWait={kill_wait}
InactiveLimit=0
GresTypes=gpu
{more}
{nodes}
PartitionName=p Nodes=ALL Default=YES State=UP MaxTime=INFINITE
"""


def why_not():
    """The reason why Slurm cannot run here, or None."""
    missing = [tool for tool in ("slurmctld", "slurmd", "munged", "srun", "salloc") if not shutil.which(tool)]
    return f"no {', '.join(missing)} (apt-get install slurmd slurmctld slurm-client munge)" if missing else None


def why_no_cgroups(*constraints):
    """The reason why proctrack/cgroup with these constraints cannot run here, or None. Slurm requires systemd for
    cgroups of version 2."""
    missing = [name for name in controllers_for(constraints) if not os.access(CGROUPS / name / "cgroup.procs", os.W_OK)]
    return f"the kernel has no {', '.join(missing)} in cgroups of version 1, which Slurm requires without systemd" if missing else None


def controllers_for(constraints):
    return ["freezer", *(CONSTRAINTS[name] for name in constraints)]


def age_of(group):
    """In seconds; 0 if the group was removed meanwhile."""
    try:
        return time.time() - group.stat().st_mtime
    except FileNotFoundError:
        return 0


class Slurm:
    """`cpus`: {host name: processors}, CPUS for the others. `kill_wait`: seconds from TERM to KILL. `more`: lines for
    slurm.conf. `proctrack`: "linuxproc", or "cgroup" unless why_no_cgroups(). `constraints`: names of CONSTRAINTS, for
    proctrack "cgroup": a step sees only the cores, the memory and the devices of its job. The nodes then need as many
    processors as the machine has."""

    def __init__(self, bed, scheduler="builtin", cpus=None, kill_wait=5, more=(), proctrack="linuxproc", constraints=()):
        self.proctrack, self.constraints = proctrack, constraints
        # Its own groups: jobs and nodes of testbeds side by side have equal names.
        self.groups = [CGROUPS / name / bed.dir.name for name in controllers_for(constraints)] if proctrack == "cgroup" else []
        self.bed, self.scheduler, self.cpus, self.kill_wait, self.more = bed, scheduler, cpus or {}, kill_wait, more
        self.dir = bed.dir / "slurm"
        self.daemons = []

    def __enter__(self):
        for name in ("state", "spool", "log"):
            (self.dir / name).mkdir(parents=True)
        self._start_munge()
        for host in self.bed.hosts.values():
            self._add_devices(host)
        (self.dir / "gres.conf").write_text(f"Name=gpu File=/dev/nvidia[0-{GPUS - 1}]\n")
        (self.dir / "slurm.conf").write_text(self._configuration())
        self._make_groups()
        constrained = "".join(f"Constrain{name}=yes\n" for name in self.constraints)
        (self.dir / "cgroup.conf").write_text(f"CgroupPlugin=cgroup/v1\nCgroupMountpoint={self.dir}/cgroup\n{constrained}")
        self._start(self.bed.head, "slurmctld", "-D", "-c", "-f", str(self.dir / "slurm.conf"))
        for name, host in self.bed.hosts.items():
            self._start(host, "slurmd", "-D", "-c", "-f", str(self.dir / "slurm.conf"), "-N", name)
        self._until(lambda: self.tell("sinfo", "-h", "-t", "idle", "-o", "%D").strip() == str(len(self.bed.hosts)),
                    "its nodes are not idle")
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """May be called twice. Ends the jobs, then the daemons, which process 1 of their hosts would end anyway."""
        try:
            self._end_daemons()
        finally:
            self._remove_groups()

    def _end_daemons(self):
        if not self.daemons:
            return
        self.tell("scancel", "-u", "root")
        self._until(lambda: not self.jobs(), "jobs are left")
        ours = {daemon.pid for daemon in self.daemons}
        for host in [*self.bed.hosts.values(), self.bed.head]:
            for pid, line in host.processes().items():
                is_nsenter = host.own_processes and pid in ours  # nsenter ends with its daemon and reaps it
                if any(words in line for words in host.daemons) and not is_nsenter:
                    os.kill(pid, signal.SIGKILL)
            host.daemons = []
        for daemon in self.daemons:
            daemon.wait(START_TIMEOUT)
        self.daemons = []

    def _make_groups(self):
        """A group of each controller, at a path for the nodes. dlaunch reads the controllers at their usual path."""
        for group in self.groups:
            group.mkdir(exist_ok=True)
            for name in ("cpuset.cpus", "cpuset.mems"):  # without these values, processes of a new group cannot run
                if (group / name).exists():
                    (group / name).write_text((group.parent / name).read_text())
            place = self.dir / "cgroup" / group.parent.name
            place.mkdir(parents=True)
            for host in self.bed.hosts.values():
                host.sh(f"mount --bind {group} {place}")

    def _remove_groups(self):
        """Also the groups of test beds that were killed. Their processes may be in another namespace: age decides."""
        deadline = time.monotonic() + START_TIMEOUT  # a slurmstepd may still end
        abandoned = [group for group in CGROUPS.glob("*/testbed-*") if age_of(group) > 2 * 3600]
        for place in [*self.groups, *abandoned]:
            while place.exists() and time.monotonic() < deadline:
                for group, _, _ in os.walk(place, topdown=False):
                    with contextlib.suppress(OSError):
                        os.rmdir(group)
                time.sleep(0.05)

    def environment(self):
        """The variables that user commands of Slurm require."""
        return {"PATH": os.environ["PATH"], "SLURM_CONF": str(self.dir / "slurm.conf")}

    def tell(self, *words):
        """Runs a command of Slurm on the head. Returns its stdout."""
        return self.bed.head.run(words, env=self.environment()).stdout

    def update(self, number, setting):
        """Updates a job. An EndTime must be in the future when slurmctld gets it: now+2 is the earliest safe value."""
        done = self.bed.head.run(["scontrol", "update", f"JobId={number}", setting], env=self.environment())
        if done.returncode != 0:
            raise RuntimeError(f"testbed: scontrol update {setting}: {done.stderr}")

    def told(self, lines=40):
        """Slurm's report on its jobs, and the ends of its logs, for the message of a failed test."""
        logs = [f"--- {log.name}\n" + "".join(log.read_text(errors="replace").splitlines(True)[-lines:])
                for log in sorted((self.dir / "log").glob("*"))]
        return self.tell("scontrol", "show", "job") + "\n".join(logs)

    def version(self):
        """(22, 5) for Slurm 22.05.8."""
        return tuple(map(int, re.search(r"(\d+)\.(\d+)", self.tell("scontrol", "--version")).groups()))

    def jobs(self):
        return self.tell("squeue", "-h", "-o", "%i").split()

    def gpus(self, options):
        """{node: GPUs} of an allocation with these options of salloc."""
        shown = self.tell("salloc", "-Q", *options, "sh", "-c", "scontrol show job -d -o $SLURM_JOB_ID")
        found = {}
        for nodes, number in re.findall(r"Nodes=(\S+) CPU_IDs=\S+ Mem=\S+ GRES=gpu:(\d+)", shown):
            for name in self.tell("scontrol", "show", "hostnames", nodes).split():
                found[name] = int(number)
        return found

    def steps(self):
        """The steps of ranks and agents, without the shells of allocations."""
        return [step for step in self.tell("squeue", "-h", "-s", "-o", "%i").split() if not step.endswith(("batch", "extern"))]

    def _add_devices(self, host):
        """Makes character devices with the names of GPUs, in a /dev of the host. With the constraint of devices, a
        process that may open such a device gets ENXIO, any other process EPERM."""
        place = self.dir / f"{host.name}.dev"
        place.mkdir()
        kind = "195 {}" if "Devices" in self.constraints else "1 3"
        made = " && ".join(f"mknod {place}/nvidia{number} c {kind.format(number)}" for number in range(GPUS))
        host.sh(f"""set -e
            mount -t tmpfs -o mode=0755 none {place}
            cd /dev && cp -a null zero full random urandom tty ptmx fd stdin stdout stderr {place}
            mkdir {place}/pts {place}/shm && mount --rbind /dev/pts {place}/pts && mount --rbind /dev/shm {place}/shm
            {made} && mount --rbind {place} /dev""")

    def _start_munge(self):
        place = self.dir / "munge"
        place.mkdir()
        (place / "key").write_bytes(os.urandom(1024))
        (place / "key").chmod(0o400)
        self._start(self.bed.head, "munged", "--foreground", "--force", f"--key-file={place}/key", f"--socket={place}/socket",
                    f"--pid-file={place}/pid", f"--log-file={place}/log", f"--seed-file={place}/seed", "--num-threads=10")
        self._until((place / "socket").exists, "munged does not start")

    def _configuration(self):
        addresses = self.bed.addresses()
        nodes = [f"NodeName={name} NodeAddr={addresses[name]} CPUs={self.cpus.get(name, CPUS)} RealMemory=4000 Gres=gpu:{GPUS}"
                 for name in self.bed.names]
        task = "cgroup,task/affinity" if self.constraints else "none"
        return CONFIGURATION.format(proctrack=self.proctrack, task=task, address=addresses["head"], dir=self.dir, scheduler=self.scheduler, kill_wait=self.kill_wait,
                                    more="\n".join(self.more), nodes="\n".join(nodes))

    def _start(self, host, *words):
        host.daemons.append(" ".join(words[:2]))
        with open(self.dir / f"{host.name}.{words[0]}.err", "wb") as errors:
            self.daemons.append(subprocess.Popen(host.command(words), env={"PATH": os.environ["PATH"]},
                                                 stdin=subprocess.DEVNULL, stdout=errors, stderr=errors,
                                                 preexec_fn=namespaces.die_with_parent))

    def _until(self, holds, otherwise):
        deadline = time.monotonic() + START_TIMEOUT
        while not holds():
            if time.monotonic() > deadline:
                logs = [*self.dir.glob("*.err"), *(self.dir / "log").glob("*"), *(self.dir / "munge").glob("log")]
                said = "".join(f"\n--- {log.name}\n{log.read_text(errors='replace')[-2000:]}" for log in logs)
                raise RuntimeError(f"testbed: Slurm: {otherwise}{said}")
            time.sleep(0.1)
