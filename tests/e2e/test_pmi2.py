"""Tests PMI-2 with Slurm's client library and the test clients of pmi_client.py: answers, spawned worlds, several
hosts, and clients that violate the protocol."""
import os
import re

import pmi_case
import support
from hosts_case import HostsCase, lines
from pmi_client import client, frame_client as own, one_line
from promises import ATTACK, ENDS, MPI, NAMES_FIRST, ORPHANS, SPAWN, promise
from support import Case, program

CLIENT = program("pmi2_client")
NO_CLIENT = None if os.path.exists(CLIENT) else "no libpmi2 to build pmi2_client with: scripts/install-packages mpi"


class Promises(pmi_case.OneHost, Case):
    dialect = pmi_case.PMI2


class PromisesOverHosts(pmi_case.SeveralHosts, HostsCase):
    dialect = pmi_case.PMI2


class SlurmsClient(Case):
    def setUp(self):
        if NO_CLIENT:
            self.skipTest(NO_CLIENT)
        super().setUp()

    def test_ranks_share_one_world(self):
        for how in ("auto", "pmi2", "pmi1"):
            with self.subTest(how):
                out = lines(self.assert_succeeds("--mpi", how, "-n", 4, CLIENT))
                self.assertEqual([re.sub(r"universe \d+", "universe U", line) for line in sorted(out)],
                                 [f"rank {rank} of 4 app 0 spawned 0 universe U mapping (vector,(0,1,4))" for rank in range(4)])

    def test_programs_have_app_numbers(self):
        out = lines(self.assert_succeeds("-n", 1, CLIENT, ":", "-n", 2, CLIENT))
        self.assertEqual(sorted(line.split(" spawned")[0] for line in out),
                         ["rank 0 of 3 app 0", "rank 1 of 3 app 1", "rank 2 of 3 app 1"])

    def test_mpi_none_gives_no_connection(self):
        result = self.run_dlaunch("--mpi", "none", "-n", 2, CLIENT)
        self.assertNotEqual(result.returncode, 0)

    @promise(NAMES_FIRST, mode=MPI)
    def test_abort_and_missing_finalize_are_failures(self):
        result = self.run_dlaunch("-n", 3, CLIENT, "abort", 1)
        self.assert_exit(result, 1)
        self.assertRegex(result.stderr.decode(), r"rank 1 \(host \S+, pid \d+\) called MPI_Abort with code 1")
        result = self.run_dlaunch("-n", 2, CLIENT, "leave")
        self.assert_exit(result, 1)
        self.assertIn("exited with code 0 after MPI_Init and without MPI_Finalize", result.stderr.decode())

    def test_variables_of_an_outer_slurm_job_are_ignored(self):
        self.assert_succeeds("-n", 2, CLIENT, env={"PMI_FD": "9", "PMI2_CONNECT_TO_SERVER": "1", "PMI_JOBID": "77.0"})


class Hostile(Case):
    """A client that violates the protocol ends only itself: the connection is closed, the rank is named, other ranks
    continue."""

    def test_incomplete_frame_after_finalize_is_ignored(self):
        self.assert_succeeds("-n", 2, *own("init(); finalize()\nif rank: pmi.sendall(b'999   cmd=')"))

    @promise(ENDS, mode=MPI)
    def test_dead_rank_releases_a_wait_for_a_node_attribute(self):
        result = self.run_dlaunch("--on-failure", "continue", "-n", 2, *own("""
init()
if rank == 1: os._exit(5)
assert ask("cmd=info-getnodeattr;key=a;wait=TRUE;") == ""
os._exit(4)
"""))
        self.assertIn(result.returncode, (4, 5))
        self.assertIn('no rank can put the attribute any more: "a"', result.stderr.decode())

    @promise(ENDS, mode=(ATTACK, MPI, ORPHANS))
    def test_child_that_sends_after_its_rank_does_not_block_the_job(self):
        result = self.run_dlaunch("-n", 1, *own("""
init()
if os.fork():
    while not os.path.exists("talks"): time.sleep(0.02)
    os._exit(3)
try:
    while True:
        pmi.sendall(frame("cmd=abort;isworld=FALSE;") * 2000)
        open("talks", "w").close()
except OSError: pass
"""), timeout=20)
        self.assert_exit(result, 3)
        self.assertIn("exited with code 3", result.stderr.decode())

    def test_incomplete_spawn_after_finalize_is_ignored(self):
        self.assert_succeeds("-n", 2, *own("init(); finalize()\nif rank: pmi.sendall(frame('cmd=spawn;ncmds=1;preputcount=0;subcmd=x;maxprocs=1;argc=0;')[:-9])"))


CHILD = """
init(spawner)
job = value("cmd=job-getid;", "jobid")
port = value(f"cmd=kvs-get;jobid={job};srcid=-1;key=PORT;", "value")
ask(f"cmd=kvs-put;key=k{rank};value={rank};")
ask("cmd=kvs-fence;")
for other in range(size): assert value(f"cmd=kvs-get;jobid={job};srcid={other};key=k{other};", "value") == str(other)
e = os.environ
print("child", rank, size, port, e["PMI_SPAWNED"], e["DLAUNCH_WORLD"], e["DLAUNCH_HOST"], *sys.argv[2:], flush=True)
finalize()
"""
# A child that uses PMI-1.
LINES_CHILD = """
name = init()
port = ask(f"cmd=get kvsname={name} key=PORT").split("value=")[1].strip()
assert barrier() == "cmd=barrier_out\\n"
print("child", rank, size, port, os.environ["PMI_SPAWNED"], os.environ["DLAUNCH_WORLD"], flush=True)
finalize()
"""
SPAWNER = "spawner = sys.argv[1]\n"


def parent(*programs, then="finalize()"):
    """Rank 0 spawns `programs`, (count, words, info) each, with the name of its job as their last argument, and prints
    the answer."""
    return own(f"""
init()
if rank == 0:
    job = value("cmd=job-getid;", "jobid")
    words = [(count, words + [job], info) for count, words, info in {[(count, list(words), info) for count, words, info in programs]!r}]
    sys.stderr.write(spawn(*words, preput=[("PORT", "tag#0$;x")]) + "\\n")
{then}
""")


class Spawn(Case):
    def spawned(self, *args, ok=True):
        result = self.run_dlaunch(*args)
        self.assert_exit(result, 0)
        self.assertRegex(result.stderr.decode(), "cmd=spawn-response;thrid=0x12;" + (r"jobid=kvs_\S+_2;nerrs=0;rc=0;" if ok else "rc=14;errmsg=spawn_failed;"))
        return result

    def test_spawned_ranks_are_a_new_world(self):
        out = self.spawned("-n", 2, "--label", *parent((2, own(SPAWNER + CHILD), []), (1, own(SPAWNER + CHILD), []), then="ask('cmd=kvs-fence;')\nfinalize()"))
        rows = sorted(line.split() for line in lines(out.stdout))
        self.assertEqual([row[:7] for row in rows], [[f"[2/{rank}]", "child", str(rank), "3", "tag#0$;x", "1", "2"] for rank in range(3)])

    def test_pmi1_and_pmi2_clients_spawn_each_other(self):
        out = self.spawned("-n", 1, *parent((2, client(LINES_CHILD), [])))
        self.assertEqual(sorted(lines(out.stdout)), [f"child {rank} 2 tag#0$;x 1 2" for rank in range(2)])
        result = self.run_dlaunch("-n", 1, *client(f"""
name = init()
print(spawn((2, {one_line(SPAWNER + CHILD, own)!r} + [name], []), preput=[('PORT', 'tag')]), flush=True)
finalize()
"""))
        self.assert_exit(result, 0)
        self.assertEqual([line.split()[:6] for line in sorted(lines(result.stdout)) if line.startswith("child")],
                         [["child", str(rank), "2", "tag", "1", "2"] for rank in range(2)])

    def test_spawned_rank_spawns_another_world(self):
        inner = own(f"init(sys.argv[1])\njob = value('cmd=job-getid;', 'jobid')\nassert 'rc=0' in spawn((1, {own(SPAWNER + CHILD)!r} + [job], []), preput=[('PORT', 'deep')])\nfinalize()\n")
        out = self.spawned("-n", 1, "--label", *parent((1, inner, [])))
        self.assertTrue(out.stdout.startswith(b"[3/0] child 0 1 deep 1 3 "), out.stdout)

    def test_spawn_info_is_applied(self):
        tool = self.dir / "bin" / "told"
        tool.parent.mkdir()
        tool.write_text("#!/bin/sh\necho $PWD $COLOUR \"$1\"\n")
        tool.chmod(0o755)
        info = [("wdir", "/"), ("path", str(tool.parent)), ("env", "COLOUR=red;blue"), ("soft", "1:2")]
        self.assertEqual(self.spawned("-n", 1, *parent((1, ["told", "x;y"], info))).stdout, b"/ red;blue x;y\n")

    def test_long_spawn_request_is_accepted(self):
        out = self.spawned("-n", 1, *own("init()\nsys.stderr.write(spawn((1, ['sh', '-c', 'echo $# ${#1}', 'sh'] + ['w' * 1000] * 900, [])))\nfinalize()"))
        self.assertEqual(out.stdout, b"900 1000\n")

    def test_rejected_spawn_gets_an_error_and_the_job_continues(self):
        for count, words, info, told in ((0, ["x"], [], 'invalid number of processes "0"'), (4097, ["x"], [], "expected at most 4096"),
                                         (1, ["x"], [("host", "nowhere")], 'unknown host "nowhere"'), (1, [""], [], "missing program")):
            result = self.spawned("-n", 2, *parent((count, words, info), then="ask('cmd=kvs-fence;')\nfinalize()\nprint('on')"), ok=False)
            self.assertEqual(result.stdout, b"on\non\n")
            self.assertIn("rank 0 cannot spawn: ", result.stderr.decode())
            self.assertIn(told, result.stderr.decode())

    @promise(ENDS, NAMES_FIRST, mode=SPAWN)
    def test_abort_of_a_spawned_rank_ends_the_job(self):
        aborts = own("init(sys.argv[1])\nif rank: ask('cmd=abort;isworld=TRUE;msg=;')\ntime.sleep(60)")
        result = self.run_dlaunch("-n", 2, *parent((2, aborts, []), then="ask('cmd=kvs-fence;')\ntime.sleep(60)"))
        self.assert_exit(result, 1)
        self.assertRegex(result.stderr.decode(), r"dlaunch: rank 2/1 \(host \S+, pid \d+\) called MPI_Abort")

    def test_client_of_slurm_spawns(self):
        if NO_CLIENT:
            self.skipTest(NO_CLIENT)
        out = lines(self.assert_succeeds("-n", 2, "--label", CLIENT, "spawn", 2, "wdir=/"))
        self.assertEqual([re.sub(r"on \S+:", "on HOST:", line) for line in sorted(out) if "child" in line],
                         ["[2/0] child 0 of 3 app 0 on HOST: a;b c", "[2/1] child 1 of 3 app 0 on HOST: a;b c", "[2/2] child 2 of 3 app 1 on HOST: "])
        self.assertIn("[0] spawned", out)
        result = self.run_dlaunch("-n", 2, CLIENT, "spawn", 2, "host=nowhere")
        self.assert_exit(result, 0)
        self.assertIn("refused", lines(result.stdout))
        self.assertEqual(len(lines(result.stdout)), 3)


class OverHosts(HostsCase):
    count = 3

    def test_ranks_of_several_hosts_share_one_world(self):
        if NO_CLIENT:
            self.skipTest(NO_CLIENT)
        result = self.run_dlaunch("-H", "node1:2,node2:2,node3:1", CLIENT)
        self.assert_exit(result, 0)
        self.assertEqual(sorted(lines(result.stdout)), [
            f"rank {rank} of 5 app 0 spawned 0 universe 5 mapping (vector,(0,2,2),(2,1,1))" for rank in range(5)])

    def test_node_attribute_is_visible_on_its_node_only(self):
        result = self.run_dlaunch("-H", "node1:2,node2:1", *own("""
init()
local = int(os.environ["MPI_LOCALRANKID"])
if local:
    say("cmd=info-getnodeattr;key=a;wait=TRUE;")
    open("asked", "w").close()
    print(rank, heard())
elif rank == 0:
    while not os.path.exists("asked"): time.sleep(0.02)
    ask("cmd=info-putnodeattr;key=a;value=here;")
ask("cmd=kvs-fence;")
if rank == 2: print(rank, ask("cmd=info-getnodeattr;key=a;wait=FALSE;"))
finalize()
"""))
        self.assert_exit(result, 0)
        self.assertEqual(sorted(lines(result.stdout)), ["1 cmd=info-getnodeattr-response;found=TRUE;value=here;rc=0;",
                                                        "2 cmd=info-getnodeattr-response;found=FALSE;rc=0;"])

    def test_spawned_world_spans_several_hosts(self):
        result = self.run_dlaunch("--label", "-n", 2, "-N", 1, "-H", "node1:1,node2:2,node3:1",
                                  *parent((4, own(SPAWNER + CHILD), []), (1, own(SPAWNER + CHILD), [("host", "node2")]), then="ask('cmd=kvs-fence;')\nfinalize()"))
        self.assert_exit(result, 0)
        rows = sorted(line.split() for line in lines(result.stdout))
        self.assertEqual([row[:7] for row in rows], [[f"[2/{rank}]", "child", str(rank), "5", "tag#0$;x", "1", "2"] for rank in range(5)])
        self.assertEqual([row[7] for row in rows], ["node2", "node3", "node1", "node2", "node2"])

    def test_client_of_slurm_spawns_on_another_host(self):
        if NO_CLIENT:
            self.skipTest(NO_CLIENT)
        result = self.run_dlaunch("-n", 2, "-N", 1, "-H", "node1:1,node2:1", CLIENT, "spawn", 2, "host=node2")
        self.assert_exit(result, 0)
        told = sorted(line for line in lines(result.stdout) if line.startswith("child"))
        self.assertEqual(told[:2], [f"child {rank} of 3 app 0 on node2: a;b c" for rank in range(2)])
        self.assertRegex(told[2], r"^child 2 of 3 app 1 on node[12]: $")
        self.assertIn("spawned", lines(result.stdout))


if __name__ == "__main__":
    support.main()
