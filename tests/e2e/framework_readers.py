"""Fake frameworks. Each one reads its environment by the rules of the framework's own start-up code, and the
ranks connect to each other as the framework does. As a program, framework_readers.py NAME prints the rank, size and
devices that were read, as one line of JSON.

Sources of the rules: torch/distributed/rendezvous.py (_env_rendezvous_handler), deepspeed/comm/comm.py
(init_distributed), jax/_src/clusters/{cluster,slurm_cluster,ompi_cluster}.py with distributed.py, TensorFlow's
TFConfigClusterResolver, mindspore's start-up (it sets RANK_ID and DEVICE_ID from Open MPI's variables), Horovod's
gloo_context.cc and common/util, and the variables that scripts read under Open MPI and MPICH."""
import http.client
import json
import os
import socket
import sys
import time

PATIENCE = 20  # seconds


def serve(address, size):
    """Acts as the store, coordinator or scheduler at rank 0."""
    host, port = address
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("", port))
        server.listen(size)
        server.settimeout(PATIENCE)
        for _ in range(size - 1):
            peer, _ = server.accept()
            with peer:
                peer.sendall(b"met")


def call(address):
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            with socket.create_connection(address, timeout=PATIENCE) as peer:
                if peer.recv(3) != b"met":
                    raise SystemExit("not the server of this job")
                return
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def meet_by_keys(rank, size, address):
    """Acts as Horovod's HTTPStore: each rank stores its key in the launcher's server."""
    deadline = time.monotonic() + PATIENCE

    def request(method, key, value=None):
        while time.monotonic() < deadline:
            connection = http.client.HTTPConnection(*address, timeout=PATIENCE)
            try:
                connection.request(method, f"/global/{key}", value)
                response = connection.getresponse()
                if response.status == 200:
                    return response.read()
            except ConnectionRefusedError:
                pass
            finally:
                connection.close()
            time.sleep(0.05)
        raise SystemExit(f"{method} of key {key} had no answer")

    request("PUT", rank, str(rank).encode())
    for other in range(size):
        if request("GET", other) != str(other).encode():
            raise SystemExit("not the server of this job")


def rendezvous(rank, size, address):
    if rank == 0:
        serve(address, size)
    else:
        call(address)


def number(env, name):
    return int(env[name])


def split_address(text):
    host, _, port = text.rpartition(":")
    return host.strip("[]"), int(port)


def torch(env):
    use_agent_store = env.get("TORCHELASTIC_USE_AGENT_STORE", "") == "True"
    if use_agent_store:
        raise SystemExit("rank 0 would wait for an agent's store: nobody serves it")
    address = (env["MASTER_ADDR"], number(env, "MASTER_PORT"))
    rendezvous(number(env, "RANK"), number(env, "WORLD_SIZE"), address)
    return {"rank": number(env, "RANK"), "size": number(env, "WORLD_SIZE"), "local": number(env, "LOCAL_RANK"),
            "local_size": number(env, "LOCAL_WORLD_SIZE"), "node": number(env, "GROUP_RANK")}


def deepspeed(env):
    required = ["RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "LOCAL_RANK"]
    if not all(name in env for name in required):
        raise SystemExit("it would look for mpi4py")
    rendezvous(number(env, "RANK"), number(env, "WORLD_SIZE"), (env["MASTER_ADDR"], number(env, "MASTER_PORT")))
    return {"rank": number(env, "RANK"), "size": number(env, "WORLD_SIZE"), "local": number(env, "LOCAL_RANK"),
            "local_size": number(env, "LOCAL_SIZE"), "node": number(env, "CROSS_RANK")}


def jax(env):
    if "OMPI_MCA_orte_hnp_uri" in env or "SLURM_STEP_NODELIST" in env:
        raise SystemExit("a cluster detector would answer instead")
    rank, size = number(env, "JAX_PROCESS_ID"), number(env, "JAX_NUM_PROCESSES")
    rendezvous(rank, size, split_address(env["JAX_COORDINATOR_ADDRESS"]))
    devices = env.get("JAX_LOCAL_DEVICE_IDS")
    return {"rank": rank, "size": size, "devices": devices and [int(text) for text in devices.split(",")]}


def tensorflow(env):
    config = json.loads(env["TF_CONFIG"])
    workers, task = config["cluster"]["worker"], config["task"]
    assert task["type"] == "worker" and len(set(workers)) == len(workers)
    # Each TensorFlow worker has its own server. Here each rank waits for the previous one, in a ring.
    rank, size = task["index"], len(workers)
    mine = split_address(workers[rank])
    if rank != 0:
        serve(mine, 2)
    if rank != size - 1:
        call(split_address(workers[rank + 1]))
    return {"rank": rank, "size": size}


def mindspore(env):
    if "MS_ROLE" in env or "MS_SCHED_HOST" in env:
        raise SystemExit("a dynamic cluster would be made")
    if env.get("OMPI_COMMAND") and env.get("PMIX_RANK"):
        raise SystemExit("MPI_Init would be called")
    rank = env.get("OMPI_COMM_WORLD_RANK", env["RANK_ID"])
    device = env.get("OMPI_COMM_WORLD_LOCAL_RANK", env["DEVICE_ID"])
    size = env.get("OMPI_COMM_WORLD_SIZE", env["RANK_SIZE"])
    return {"rank": int(rank), "size": int(size), "device": int(device), "local_size": number(env, "DEVICE_NUM")}


def mindspore_dynamic(env):
    address = (env["MS_SCHED_HOST"], number(env, "MS_SCHED_PORT"))
    size = number(env, "MS_WORKER_NUM")
    if env.get("OMPI_COMM_WORLD_RANK"):
        raise SystemExit("RANK_ID would come from there")
    if env["MS_ROLE"] == "MS_SCHED":
        assert "RANK_ID" not in env and "MS_NODE_ID" not in env
        print("scheduler of", size)
        serve(address, size + 1)
        raise SystemExit(number(env, "SCHEDULER_ENDS_WITH") if "SCHEDULER_ENDS_WITH" in env else 0)
    assert env["MS_ROLE"] == "MS_WORKER"
    call(address)
    return {"rank": number(env, "MS_NODE_ID"), "size": size}


def horovod(env):
    if any(a in env and b in env for a, b in (("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE"))):
        raise SystemExit("the MPI controller would be taken")
    assert env["HOROVOD_CONTROLLER"] == env["HOROVOD_CPU_OPERATIONS"] == "gloo"
    address = (env["HOROVOD_GLOO_RENDEZVOUS_ADDR"], number(env, "HOROVOD_GLOO_RENDEZVOUS_PORT"))
    meet_by_keys(number(env, "HOROVOD_RANK"), number(env, "HOROVOD_SIZE"), address)
    names = {"rank": "RANK", "size": "SIZE", "local": "LOCAL_RANK", "local_size": "LOCAL_SIZE", "node": "CROSS_RANK"}
    return {key: number(env, "HOROVOD_" + name) for key, name in names.items()}


def openmpi(env):
    names = {"rank": "RANK", "size": "SIZE", "local": "LOCAL_RANK", "local_size": "LOCAL_SIZE"}
    return {key: number(env, "OMPI_COMM_WORLD_" + name) for key, name in names.items()}


def mpich(env):
    if "PMI_SIZE" in env and "PMIX_NAMESPACE" in env:
        raise SystemExit("MPICH aborts: two process managers")
    return {"rank": number(env, "PMI_RANK"), "size": number(env, "PMI_SIZE"), "local": number(env, "MPI_LOCALRANKID"),
            "local_size": number(env, "MPI_LOCALNRANKS")}


def slurm(env):
    nodes = env["SLURM_STEP_NODELIST"]
    first = nodes.split(",")[0]
    if "[" in first:
        first = first.split("[")[0] + nodes.split("[")[1].replace("-", ",").split(",")[0]
    port = number(env, "SLURM_JOB_ID") % 2**12 + (65535 - 2**12 + 1)
    rank, size = number(env, "SLURM_PROCID"), number(env, "SLURM_NTASKS")
    rendezvous(rank, size, (first, port))
    return {"rank": rank, "size": size, "local": number(env, "SLURM_LOCALID"), "node": number(env, "SLURM_NODEID")}


READERS = {reader.__name__.replace("_", "-"): reader
           for reader in (torch, deepspeed, jax, tensorflow, mindspore, mindspore_dynamic, horovod, openmpi, mpich, slurm)}

if __name__ == "__main__":
    print(json.dumps(READERS[sys.argv[1]](os.environ)))
