"""Tests MPIJobs of Kubernetes, with the environment that the operator gives to the launcher's pod: v2beta1 uses ssh, v1
uses kubectl exec. Pods are hosts of a testbed. Host files, variables and kubexec.sh are those of kubeflow/mpi-operator,
pkg/controller at v0.2.3 and v0.4.0."""
import pathlib
import subprocess
import textwrap
import unittest

import support
import yaml
from hosts_case import HostsCase, lines
from manager_case import ROWS, ManagerCase
from promises import ENDS, KUBERNETES, PREEMPTION, SIGNAL, promise
from support import wait_until
from test_same_line import KEY, SameLineCase
from test_slurm_preemption import RANK

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
KUBECTL = ROOT / "tests" / "testbed" / "kubectl"
KUBEXEC = """#!/bin/sh
set -x
POD_NAME=$1
shift
{kubectl} exec ${{POD_NAME}} --container mpi -- /bin/sh -c "$*"
"""


EXAMPLES = ROOT / "examples" / "kubernetes"


def manifests():
    """The manifests of examples/kubernetes, by kind."""
    files = sorted(EXAMPLES.glob("*.yaml"))
    found = [manifest for file in files for manifest in yaml.safe_load_all(file.read_text(encoding="utf-8"))]
    return {manifest["kind"]: manifest for manifest in found}


def documented():
    """The manifests of docs/kubernetes.md, as text."""
    text = (ROOT / "docs" / "kubernetes.md").read_text(encoding="utf-8")
    blocks, block = [], []
    for line in [*text.splitlines(), "#"]:  # "#": ends the last block
        if line.startswith("    ") or (block and not line):
            block.append(line)
            continue
        blocks.append(textwrap.dedent("\n".join(block)).strip() + "\n")
        block = []
    return [block for block in blocks if block.startswith("apiVersion:")]


class Manifests(unittest.TestCase):
    def test_page_shows_the_tested_manifests(self):
        shown = documented()
        self.assertEqual(len(shown), 2)
        self.assertEqual(sorted(shown), sorted((EXAMPLES / name).read_text() for name in ("indexed-job.yaml", "mpijob.yaml")))
        self.assertEqual(sorted(manifests()), ["Job", "JobSet", "MPIJob", "Service", "TrainJob"])


class MpiJob(HostsCase):
    """API version v2beta1."""

    place = KUBERNETES

    def setUp(self):
        super().setUp()
        self.hostfile = self.dir / "hostfile"
        self.hostfile.write_text("train-worker-0.train.ns.svc slots=2\ntrain-worker-1.train.ns.svc slots=2\n")
        self.env |= {"K_MPI_JOB_ROLE": "launcher", "OMPI_MCA_orte_default_hostfile": str(self.hostfile),
                     "NVIDIA_VISIBLE_DEVICES": "", "KUBERNETES_SERVICE_HOST": "10.96.0.1"}

    def name_workers(self, numbers):
        """Adds names as the cluster's DNS does once a pod exists."""
        with (self.bed.dir / "hosts").open("a", encoding="ascii") as hosts:
            for number in numbers:
                hosts.write(f"{self.host(number).address} train-worker-{number - 1}.train.ns.svc\n")

    def test_mounted_hostfile_names_the_hosts(self):
        self.name_workers([1, 2])
        result = self.run_dlaunch("sh", "-c", "echo $RANK_ID $(uname -n)")
        self.assert_exit(result, 0)
        self.assertEqual(sorted(lines(result.stdout)), ["0 node1", "1 node1", "2 node2", "3 node2"])

    def test_documented_manifest_runs(self):
        manifest = manifests()["MPIJob"]
        self.assertEqual((manifest["apiVersion"], manifest["metadata"]["name"]), ("kubeflow.org/v2beta1", "train"))
        spec = manifest["spec"]
        workers, launcher = (spec["mpiReplicaSpecs"][role] for role in ("Worker", "Launcher"))
        slots = f"slots={spec['slotsPerWorker']}"
        self.hostfile.write_text("".join(f"train-worker-{number}.train.ns.svc {slots}\n" for number in range(workers["replicas"])))
        script = self.dir / "train.py"
        script.write_text("import os\nprint(os.environ['RANK'], os.environ['WORLD_SIZE'], os.uname().nodename, os.environ['MASTER_ADDR'])\n")
        words = launcher["template"]["spec"]["containers"][0]["command"]
        self.assertEqual(words[0], "dlaunch")
        self.name_workers([1, 2])
        result = self.run_dlaunch(*(script if word == "/app/train.py" else word for word in words[1:]))
        self.assert_exit(result, 0)
        self.assertEqual(sorted(lines(result.stdout)), [f"{rank} 4 node{1 + rank // 2} train-worker-0.train.ns.svc" for rank in range(4)])

    def test_variables_of_intel_mpi_and_hydra_name_the_hostfile(self):
        self.name_workers([1, 2])
        del self.env["OMPI_MCA_orte_default_hostfile"]
        self.hostfile.write_text("train-worker-0.train.ns.svc:1\ntrain-worker-1.train.ns.svc:1\n")
        for variable in ("I_MPI_HYDRA_HOST_FILE", "HYDRA_HOST_FILE"):
            result = self.run_dlaunch("uname", "-n", env={variable: str(self.hostfile)})
            self.assertEqual(sorted(lines(result.stdout)), ["node1", "node2"], result.stderr)

    def test_workers_with_unresolved_names_are_waited_for(self):
        self.name_workers([1])
        job = self.start("-v", "uname", "-n", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        said = b""
        while b"train-worker-1.train.ns.svc" not in said or b"next attempt" not in said:
            said += job.stderr.read1(65536) or self.fail(f"it ended: {said}")
        self.name_workers([2])
        result, _ = self.finish(job, 60)
        self.assert_exit(result, 0)
        self.assertEqual(sorted(lines(result.stdout)), ["node1", "node1", "node2", "node2"])

    def test_transport_is_reported(self):
        result = self.run_dlaunch("--dry-run", "-n", "4", "true")
        self.assertIn("MPIJob: 2 nodes × 2 slots, by ssh", (result.stdout + result.stderr).decode())

    def test_missing_hostfile_is_an_error(self):
        del self.env["OMPI_MCA_orte_default_hostfile"]
        result = self.run_dlaunch("-n", "1", "touch", self.dir / "ran", env={"HYDRA_HOST_FILE": "/gone/hostfile"})
        self.assert_told(result, 2, "HYDRA_HOST_FILE", "/gone/hostfile")
        self.assertIn(b"--ignore-resource-manager", result.stderr)
        self.assertFalse((self.dir / "ran").exists())

    def test_job_in_a_workers_pod_runs_on_this_machine(self):
        result = self.run_dlaunch("-n", "1", "uname", "-n", env={"K_MPI_JOB_ROLE": "worker", "OMPI_MCA_orte_default_hostfile": ""})
        self.assertEqual(result.stdout, b"head\n")


class MpiJobV1Case(HostsCase):
    """API version v1: pods have no sshd and no DNS names."""

    place = KUBERNETES

    def setUp(self):
        super().setUp()
        for number in (1, 2):
            self.host(number).kill_sshd()
        hostfile, kubexec, pods = self.dir / "hostfile", self.dir / "kubexec.sh", self.dir / "pods"
        hostfile.write_text("train-worker-0 slots=2\ntrain-worker-1 slots=2\n")
        kubexec.write_text(KUBEXEC.format(kubectl=KUBECTL))
        kubexec.chmod(0o755)
        pods.write_text(f"train-worker-0 {self.host(1).pid}\ntrain-worker-1 {self.host(2).pid}\n")
        self.env |= {"OMPI_MCA_plm_rsh_agent": str(kubexec), "OMPI_MCA_orte_default_hostfile": str(hostfile), "PODS": str(pods)}


class Promises(ManagerCase, MpiJobV1Case):
    row = ROWS[KUBERNETES]

    def break_command(self):
        self.env["DLAUNCH_WAIT_HOSTS"] = "1"  # the default of an MPIJob is 300 s
        (self.dir / "pods").write_text(f"train-worker-0 {self.host(1).pid}\n")
        return "train-worker-1", 'Error from server (NotFound): pods "train-worker-1" not found'


class MpiJobV1(MpiJobV1Case):
    def test_mpirun_does_not_use_the_script_without_stdin(self):
        result = self.run_dlaunch("--personality", "mpirun", "--allow-run-as-root", "uname", "-n")
        self.assert_exit(result, 0)
        self.assertEqual(sorted(lines(result.stdout)), ["node1", "node1", "node2", "node2"])

    def test_option_exec_overrides_kubectl(self):
        result = self.run_dlaunch("--exec", f"{KUBECTL} exec -i {{host}} --", "-N", "1", "uname", "-n")
        self.assertEqual(sorted(lines(result.stdout)), ["node1", "node2"], result.stderr)


class RequeuedPod(support.Case):
    """Tests examples/requeue/job.yaml."""

    @promise(ENDS, mode=(PREEMPTION, SIGNAL), place=KUBERNETES)
    def test_job_command_saves_on_sigterm_and_exits_with_an_ignored_code(self):
        job = yaml.safe_load((ROOT / "examples" / "requeue" / "job.yaml").read_text(encoding="utf-8"))
        pod, rules = job["spec"]["template"]["spec"], job["spec"]["podFailurePolicy"]["rules"]
        # A policy requires Never.
        self.assertEqual((job["apiVersion"], job["kind"], pod["restartPolicy"]), ("batch/v1", "Job", "Never"))
        codes = {code: rule["action"] for rule in rules if "onExitCodes" in rule for code in rule["onExitCodes"]["values"]}
        self.assertEqual(codes, {93: "FailJob", 75: "Ignore"})
        command = pod["containers"][0]["command"]
        self.assertEqual(command[0], "dlaunch")
        grace = int(command[command.index("--preempt-grace") + 1])
        self.assertLess(grace + 5, pod["terminationGracePeriodSeconds"])
        (self.dir / "train.py").write_text(RANK)
        with self.start(*(self.dir / "train.py" if word == "/app/train.py" else word for word in command[1:]),
                        stdout=subprocess.PIPE, stderr=subprocess.PIPE) as pod_1:
            self.assertTrue(wait_until(lambda: len(list(self.dir.glob("up.*"))) == 8, support.TIMEOUT))
            pod_1.terminate()
            out, err = pod_1.communicate(timeout=support.TIMEOUT)
        self.assertEqual((pod_1.returncode, out.count(b"was told SIGUSR1\n")), (75, 8), err)


class SamePods(SameLineCase):
    """Pods that all run the documented command line, with the variables that Kubernetes sets."""

    place = KUBERNETES
    count = 2

    def run_pods(self, container, names, variables):
        """`names`: DNS names of the first pod. `variables`: of pod 0 and pod 1."""
        script = self.dir / "train.py"
        script.write_text("import os\nprint(os.environ['RANK'], os.environ['WORLD_SIZE'], os.uname().nodename, 'DLAUNCH_KEY' in os.environ)\n")
        with (self.bed.dir / "hosts").open("a", encoding="ascii") as hosts:
            hosts.write(f"{self.host(1).address} {names}\n")
        secret = {entry["name"]: KEY for entry in container["env"] if "secretKeyRef" in entry["valueFrom"]}
        self.assertEqual(container["command"][0], "dlaunch")
        words = [str(script) if word == "/app/train.py" else word for word in container["command"][1:]]
        self.assertTrue(all(isinstance(word, str) for word in words), words)
        for pod in (1, 0):
            self.on(pod, words, env=secret | variables[pod])
        first, second = self.ends()
        self.assertEqual(first[0], 0, first)
        self.assertEqual(sorted(first[1].splitlines()), [f"{rank} 4 node{1 + rank // 2} False" for rank in range(4)])
        self.assertEqual(second[:2], (0, ""), second)

    def test_indexed_job_runs(self):
        found = manifests()
        job, service = found["Job"]["spec"], found["Service"]
        self.assertEqual((job["completionMode"], job["completions"], job["parallelism"]), ("Indexed", 2, 2))
        self.assertEqual(job["template"]["spec"]["subdomain"], service["metadata"]["name"])
        self.assertEqual(service["spec"]["selector"], {"job-name": found["Job"]["metadata"]["name"]})
        self.run_pods(job["template"]["spec"]["containers"][0], "train-0.train",
                      [{"JOB_COMPLETION_INDEX": str(pod), "KUBERNETES_SERVICE_HOST": "10.96.0.1"} for pod in (0, 1)])

    def test_jobset_runs(self):
        jobset = manifests()["JobSet"]
        job = jobset["spec"]["replicatedJobs"][0]
        self.assertEqual((jobset["metadata"]["name"], job["name"], job["replicas"]), ("train", "node", 1))
        self.run_pods(job["template"]["spec"]["template"]["spec"]["containers"][0], "train-node-0-0.train",
                      [{"JOB_COMPLETION_INDEX": str(pod)} for pod in (0, 1)])

    def test_trainjob_runs(self):
        trainer = manifests()["TrainJob"]["spec"]["trainer"]
        self.run_pods(trainer, "train-node-0-0.train",
                      [{"PET_NNODES": str(trainer["numNodes"]), "PET_NPROC_PER_NODE": str(trainer["numProcPerNode"]),
                        "PET_NODE_RANK": str(pod), "PET_MASTER_ADDR": "train-node-0-0.train", "PET_MASTER_PORT": "29500"}
                       for pod in (0, 1)])


if __name__ == "__main__":
    support.main()
