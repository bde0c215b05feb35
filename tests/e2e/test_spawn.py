"""Tests worlds that ranks spawn (MPI_Comm_spawn) through PMI-1: their ranks, their hosts, and the end of the job."""
import json
import os
import signal
import subprocess

import support
from hosts_case import HostsCase, lines
from pmi_client import client, one_line
from promises import (ATTACK, COMMAND, ENDS, FAILURE, FILES, KILL, LEAVES_NOTHING, LOSES_NOTHING, NAMES_FIRST, RESTARTS,
                      SIGNAL, SPAWN, START, promise)
from support import Case, until_ended, wait_until

CHILD = """
name = init()
port = ask(f"cmd=get kvsname={name} key=PORT").split("value=")[1].strip()
ask(f"cmd=put kvsname={name} key=k{rank} value={rank}")
assert barrier() == "cmd=barrier_out\\n"
for other in range(size):
    assert ask(f"cmd=get kvsname={name} key=k{other}").endswith(f" value={other}\\n")
appnum = ask("cmd=get_appnum").split("appnum=")[1].strip()
mapping = ask(f"cmd=get kvsname={name} key=PMI_process_mapping").split("value=")[1].strip()
e = os.environ
print("child", rank, size, appnum, port, e["PMI_SPAWNED"], e["DLAUNCH_WORLD"], e["DLAUNCH_HOST"], e["MPI_LOCALRANKID"], mapping, *sys.argv[1:], flush=True)
if rank == 0: ask(f"cmd=publish_name service=up port={port}")
barrier()
finalize()
"""


def parent(*programs, then="finalize()", before=""):
    """Rank 0 spawns `programs`, (count, script or words, info) each, and prints the answer."""
    words = [(count, one_line(what) if isinstance(what, str) else what, info) for count, what, info in programs]
    return client(f"init()\n{before}\nif rank == 0:\n"
                  f"    sys.stderr.write(spawn(*{words!r}, preput=[('PORT', 'tag#0$x')]))\n    sys.stderr.flush()\n{then}\n")


class Spawn(Case):
    def spawned(self, *args, ok=True):
        result = self.run_dlaunch(*args)
        self.assert_exit(result, 0)
        self.assertIn("spawn_result rc=0 jobid=kvs_" if ok else "spawn_result rc=-1 ", result.stderr.decode())
        return result

    def test_spawned_ranks_are_a_new_world(self):
        result = self.spawned("-n", 2, *parent((3, CHILD, []), then="if rank == 0: assert lookup('up') == 'tag#0$x'\nbarrier()\nfinalize()"))
        self.assertEqual(sorted(" ".join(line.split()[:6]) for line in lines(result.stdout)),
                         [f"child {rank} 3 0 tag#0$x 1" for rank in range(3)])

    def test_several_spawned_programs_are_one_world(self):
        words = one_line(CHILD) + ["a word", "k=v"]
        result = self.spawned("-n", 1, *parent((2, CHILD, []), (1, words, [])))
        self.assertEqual([line.split()[1:4] for line in sorted(lines(result.stdout))], [["0", "3", "0"], ["1", "3", "0"], ["2", "3", "1"]])
        self.assertTrue(sorted(lines(result.stdout))[2].endswith(" a word k=v"))

    def test_spawn_info_is_applied(self):
        tool = self.dir / "bin" / "told"
        tool.parent.mkdir()
        tool.write_text("#!/bin/sh\necho $PWD $(pwd) $COLOUR \"$1\"\n")
        tool.chmod(0o755)
        out = self.spawned("-n", 1, *parent((1, ["told", "x y"], [("wdir", "/"), ("path", str(tool.parent)), ("env", "COLOUR=red = blue"),
                                                                  ("host", "localhost"), ("soft", "1:2")])), ok=False)
        self.assertIn('rank 0 cannot spawn: unknown host "localhost"', out.stderr.decode())
        out = self.spawned("-n", 1, *parent((1, ["told", "x y"], [("wdir", "/"), ("path", str(tool.parent)), ("env", "COLOUR=red = blue"),
                                                                  ("soft", "1:2")])))
        self.assertEqual(out.stdout, b"/ / red = blue x y\n")

    def test_each_spawn_makes_a_new_world(self):
        twice = f"spawn((1, {one_line(CHILD)!r}, []), preput=[('PORT', 'second')])\nfinalize()"
        out = self.spawned("-n", 1, "--label", *parent((1, CHILD, []), then=twice)).stdout.decode()
        self.assertIn("[2/0] child 0 1 0 tag#0$x 1 2 ", out)
        self.assertIn("[3/0] child 0 1 0 second 1 3 ", out)

    def test_spawned_rank_spawns_another_world(self):
        inner = f"init()\nassert 'rc=0' in spawn((2, {one_line(CHILD)!r}, []), preput=[('PORT', 'deep')])\nfinalize()\n"
        out = self.spawned("-n", 1, "--tag-output", *parent((1, inner, []))).stdout.decode()
        self.assertEqual(sorted(line.split("<")[0] for line in out.splitlines()), ["[3,0]", "[3,1]"])

    @promise(LOSES_NOTHING, mode=(SPAWN, FILES))
    def test_spawned_ranks_have_output_files(self):
        result = self.run_dlaunch("-n", 1, "--output-filename", "out:nocopy", *parent((11, ["sh", "-c", "echo $PMI_RANK; echo $PMI_SIZE >&2"], [])))
        self.assert_exit(result, 0)
        for rank in range(11):
            self.assertEqual((self.dir / f"out/2/rank.{rank:02}/stdout").read_text(), f"{rank}\n")
            self.assertEqual((self.dir / f"out/2/rank.{rank:02}/stderr").read_text(), "11\n")
        self.assertIn("rc=0", (self.dir / "out/1/rank.0/stderr").read_text())

    def test_file_templates_name_spawned_ranks(self):
        echo = ["sh", "-c", "echo $PMI_RANK"]
        result = self.run_dlaunch("-n", 1, "--output-filename", "t/{rank}.{stream}", *parent((2, echo, [])))
        self.assert_exit(result, 0)
        self.assertEqual([(self.dir / f"t/2.{rank}.stdout").read_text() for rank in range(2)], ["0\n", "1\n"])
        result = self.run_dlaunch("-n", 1, "--output-filename", "all.{stream}", *parent((1, echo, [])))
        self.assert_exit(result, 0)
        self.assertIn("rank 0 cannot spawn: ranks 0 and 2/0 would both write", result.stderr.decode())

    def test_jsonl_and_report_contain_spawned_ranks(self):
        result = self.run_dlaunch("-n", 1, "--format", "jsonl", "--report", "r.json", *parent((2, ["echo", "hi"], [])))
        self.assert_exit(result, 0)
        hi = [json.loads(line) for line in lines(result.stdout) if '"hi"' in line]
        self.assertEqual(sorted((row["world"], row["rank"]) for row in hi), [(2, 0), (2, 1)])
        record = json.loads((self.dir / "r.json").read_text())
        self.assertEqual([(row.get("world"), row["rank"]) for row in record["ranks"]], [(None, 0), (2, 0), (2, 1)])
        self.assertTrue(all(row["pid"] and row["shell_code"] == 0 for row in record["ranks"]))
        self.assertEqual(len(record["command"]), 1)
        self.assertEqual(record["plan"]["apps"][1]["argv"], ["echo", "hi"])

    @promise(LOSES_NOTHING, mode=SPAWN)
    def test_console_prints_whole_lines_after_a_spawn(self):
        """The spawned ranks pause within their lines. Before the spawn, the bytes of the first rank passed at once."""
        out = self.spawned("-n", 1, *parent((2, ["sh", "-c", "printf a; sleep 0.3; echo b"], []), before="sys.stdout.write('no newline'); sys.stdout.flush()",
                                            then="time.sleep(1); print(' at all'); finalize()")).stdout.decode()
        self.assertEqual(sorted(out.splitlines()), [" at all", "ab", "ab", "no newline"])

    def test_spawned_ranks_get_no_stdin_and_no_binding(self):
        out = self.spawned("-n", 1, "--stdin", "all", "--bind-to", "core", *parent((1, ["sh", "-c", "cat; nproc"], [])))
        self.assertEqual(out.stdout.decode().strip(), str(len(os.sched_getaffinity(0))))


class Ends(Case):
    STUCK = "barrier()\ntime.sleep(60)"

    @promise(ENDS, NAMES_FIRST, mode=(SPAWN, FAILURE))
    def test_first_failure_names_its_world(self):
        fails = ["sh", "-c", "[ $PMI_RANK = 0 ] || { echo why >&2; exit 7; }; sleep 60"]
        result = self.run_dlaunch("--report", "r.json", "-n", 2, *parent((2, fails, []), then=self.STUCK))
        self.assert_exit(result, 7)
        err = result.stderr.decode()
        self.assertRegex(err, r"dlaunch: rank 2/1 \(host \S+, pid \d+\) exited with code 7")
        self.assertIn("last stderr lines of rank 2/1:\ndlaunch:   | why", err)
        self.assertIn("stopped the 3 other ranks", err)
        failure = json.loads((self.dir / "r.json").read_text())["first_failure"]
        self.assertEqual((failure["world"], failure["rank"]), (2, 1))

    @promise(ENDS, NAMES_FIRST, mode=SPAWN)
    def test_abort_of_a_spawned_rank_ends_the_job(self):
        result = self.run_dlaunch("--on-failure", "continue", "-n", 2, *parent((2, "init()\nif rank: ask('cmd=abort exitcode=9')\ntime.sleep(60)", []), then=self.STUCK))
        self.assert_exit(result, 9)
        self.assertRegex(result.stderr.decode(), r"dlaunch: rank 2/1 \(host \S+, pid \d+\) called MPI_Abort")

    @promise(ENDS, NAMES_FIRST, mode=SPAWN)
    def test_spawned_rank_that_exits_releases_its_world(self):
        result = self.run_dlaunch("--on-failure", "continue", "-n", 1,
                                  *parent((2, "init()\ntell_pid()\nif rank: os._exit(0)\nassert barrier() == ''\nos._exit(4)", []), then="until_ended(0, 1)\nassert barrier() == 'cmd=barrier_out\\n'\nfinalize()"))
        self.assertIn(result.returncode, (1, 4))
        self.assertIn("rank 2/1 has left MPI or never entered MPI", result.stderr.decode())

    @promise(LOSES_NOTHING, mode=SPAWN)
    def test_job_waits_for_spawned_ranks(self):
        result = self.run_dlaunch("-n", 1, *parent((1, ["sh", "-c", f"{until_ended(0)}; echo late"], []), before="tell_pid()"))
        self.assert_exit(result, 0)
        self.assertEqual(result.stdout, b"late\n")

    @promise(ENDS, mode=(SPAWN, SIGNAL))
    def test_signals_reach_spawned_ranks(self):
        process = self.start("-n", 1, *parent((2, ["sh", "-c", "trap 'echo told; exit 0' TERM; echo up; while :; do sleep 0.05; done"], []), then=self.STUCK), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out = [process.stdout.readline() for _ in range(2)]
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=20)
        self.assertEqual(out.count(b"told\n"), 2, out)
        self.assertEqual(process.returncode, 143)
        self.assertIn(b"stopped 3 ranks", err)

    @promise(LEAVES_NOTHING, mode=(SPAWN, KILL))
    def test_killed_launcher_ends_spawned_ranks(self):
        process = self.start("-n", 1, *parent((2, ["sh", "-c", "echo $$; exec sleep 60"], []), then=self.STUCK), stdout=subprocess.PIPE)
        pids = [int(process.stdout.readline()) for _ in range(2)]
        process.kill()
        process.communicate(timeout=10)
        wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids), 10)
        self.assertFalse([pid for pid in pids if os.path.exists(f"/proc/{pid}")])


class Hostile(Case):
    """A client that violates the protocol ends only itself."""

    BREACHES = {
        "too many": ("say('mcmd=spawn\\nnprocs=1000000000\\nexecname=x\\nendcmd\\n')\n    assert 'rc=-1' in file.readline()\n    os._exit(3)",
                     'cannot spawn: invalid number of processes "1000000000": expected at most 4096'),
        "no program": ("say('mcmd=spawn\\nnprocs=1\\nendcmd\\n')\n    assert 'rc=-1' in file.readline()\n    os._exit(3)", "cannot spawn: missing program"),
        "not a number": ("say('mcmd=spawn\\nnprocs=99999999999\\nendcmd\\n')", "a spawn request with an invalid number of processes: \"99999999999\""),
        "huge totspawns": ("say('mcmd=spawn\\nnprocs=1\\nexecname=x\\ntotspawns=100000\\nendcmd\\n')", "a spawn request with an invalid number of programs: \"100000\""),
        "half a block": ("say('mcmd=spawn\\nnprocs=1\\nexecname=x\\n'); os._exit(3)", ""),
        "one block of two": ("say('mcmd=spawn\\nnprocs=1\\nexecname=x\\ntotspawns=2\\nendcmd\\ncmd=get_maxes\\n')", "a spawn request with text outside mcmd=spawn … endcmd"),
        "no endcmd": ("say('mcmd=spawn\\nnprocs=1\\nexecname=x\\ncmd=get_maxes\\n')", "a command within a spawn request"),
        "no pair": ("say('mcmd=spawn\\nwhat\\n')", "a line of a spawn request that is not KEY=VALUE"),
        "without end": ("say('mcmd=spawn\\n')\n    while True: say('arg1=' + 'x' * 1000 + '\\n')", "a spawn request of more than 1048576 bytes"),
        "no patience": ("say('mcmd=spawn\\nnprocs=0\\nexecname=x\\nendcmd\\ncmd=get_maxes\\n')", "sent a request before the answer to its last request"),
    }

    @promise(ENDS, mode=(ATTACK, SPAWN))
    def test_violations_close_the_connection(self):
        good = client("init()\nopen('go').read()\nfinalize()\nprint('well')")
        (self.dir / "go").write_text("")
        for name, (breach, told) in self.BREACHES.items():
            with self.subTest(name):
                bad = client(f"init()\ntry:\n    {breach}\n    assert file.readline() == ''\nexcept OSError: pass\nos._exit(3)")
                result = self.run_dlaunch("--on-failure", "continue", "-n", 1, *bad, ":", "-n", 1, *good)
                self.assert_exit(result, 3)
                self.assertEqual(result.stdout, b"well\n")
                self.assertIn(told, result.stderr.decode())

    def test_repeated_invalid_spawns_are_reported_five_times(self):
        result = self.run_dlaunch("-n", 1, *client("init()\nfor n in range(200): assert 'rc=-1' in spawn((0, ['x'], []))\nfinalize()"))
        self.assert_exit(result, 0)
        self.assertEqual(result.stderr.decode().count('cannot spawn: invalid number of processes "0"'), 5)
        self.assertIn("further refusals are not shown", result.stderr.decode())

    def test_spawn_before_init_is_reported(self):
        result = self.run_dlaunch("-n", 1, *client("assert ask('mcmd=spawn') == ''"))
        self.assert_exit(result, 0)
        self.assertIn("rank 0 sent a request before init", result.stderr.decode())


class Silent(Case):
    @promise(ENDS, LEAVES_NOTHING, mode=(SPAWN, SIGNAL), place=COMMAND)
    def test_interrupt_ends_a_connection_to_a_new_host(self):
        way = self.dir / "way"
        way.write_text('#!/bin/sh\nhost=$1; shift\n[ $host = here ] || { touch met; exec sleep 1000; }\nexec "$@"\n')
        way.chmod(0o755)
        job = self.start("--exec", f"{way} {{host}}", "-n", 1, "-H", "here,silent", *parent((1, CHILD, [("host", "silent")])), stderr=subprocess.PIPE)
        with job:
            self.assertTrue(wait_until((self.dir / "met").exists))
            job.send_signal(signal.SIGINT)
            self.assertEqual(job.wait(10), 130)
        self.assertEqual(self.processes(), {})


class Restarted(Case):
    """A round whose spawned ranks were on a host without other ranks, and the round after it."""

    def restarted(self, then, *args, script="sleep 1000"):
        spawner = client("init()\nif rank == 0:\n    print('round', os.environ['DLAUNCH_ROUND'], spawn((1, ['sh', '-c', %r], [('host', 'fake2')])), end='', flush=True)\n%s" % (script, then))
        result = self.run_dlaunch("--fake-hosts", "2x1", "-n", 1, "--restarts", 1, "--grace", 1, "--report", "job.json", *args, *spawner)
        self.assertRegex(result.stdout.decode(), r"round 0 .*rc=0[^$]*round 1 .*rc=0")
        self.assertIn("restart 1 of 1", result.stderr.decode())
        return result, json.loads((self.dir / "job.json").read_text())

    @promise(ENDS, LEAVES_NOTHING, NAMES_FIRST, mode=(SPAWN, RESTARTS, FAILURE))
    def test_job_restarts_after_a_spawn_on_another_host(self):
        result, record = self.restarted("time.sleep(0.3)\nos._exit(9)")
        self.assert_exit(result, 9)
        self.assertRegex(support.cause(result.stderr), r"rank 0 \(host fake1, pid \d+\) exited with code 9")
        self.assertEqual([rank["host"] for rank in record["ranks"]], ["fake1", "fake2"])

    @promise(ENDS, LEAVES_NOTHING, NAMES_FIRST, mode=(SPAWN, RESTARTS, FAILURE))
    def test_job_restarts_after_a_failure_of_a_spawned_rank(self):
        result, _ = self.restarted("time.sleep(1000)", script="kill -BUS $$")
        self.assert_exit(result, 128 + signal.SIGBUS)
        self.assertRegex(support.cause(result.stderr), r"rank 2/0 \(host fake2, pid \d+\) killed by signal 7")

    @promise(ENDS, LEAVES_NOTHING, mode=(SPAWN, RESTARTS, KILL))
    def test_job_restarts_after_the_loss_of_a_host_that_a_spawn_added(self):
        for options in ((), ("--shrink",)):
            with self.subTest(options):
                result, _ = self.restarted("time.sleep(1 if os.environ['DLAUNCH_ROUND'] == '1' else 1000)\nos._exit(7)", *options,
                                           script="[ $DLAUNCH_ROUND = 1 ] || kill -9 $PPID; sleep 1000")
                self.assert_exit(result, 7)

    @promise(ENDS, LEAVES_NOTHING, mode=(SPAWN, RESTARTS, START))
    def test_job_restarts_while_it_connects_to_a_new_host(self):
        way = self.dir / "way"
        way.write_text('#!/bin/sh\nhost=$1; shift\n[ $host = here ] || { : > met; exec sleep 1000; }\nexec "$@"\n')
        way.chmod(0o755)
        spawner = client("init()\npmi.sendall(b'mcmd=spawn\\nnprocs=1\\nexecname=true\\ntotspawns=1\\nspawnssofar=1\\nargcnt=0\\npreput_num=0\\ninfo_num=1\\ninfo_key_0=host\\ninfo_val_0=silent\\nendcmd\\n')\n"
                         "while not os.path.exists('met'): time.sleep(0.02)\nos.unlink('met')\nos._exit(9)")
        result = self.run_dlaunch("--exec", f"{way} {{host}}", "-n", 1, "-H", "here,silent", "--restarts", 1, *spawner)
        self.assert_exit(result, 9)
        self.assertIn("restart 1 of 1", result.stderr.decode())


class OverHosts(HostsCase):
    count = 2

    def test_spawned_ranks_use_free_slots_first(self):
        result = self.run_dlaunch("-n", 2, "-N", 1, "-H", "node1:2,node2:3", *parent((4, CHILD, []), then="if rank == 0: lookup('up')\nbarrier()\nfinalize()"))
        self.assert_exit(result, 0)
        rows = sorted(line.split()[1:] for line in lines(result.stdout))
        self.assertEqual([(row[0], row[6], row[7]) for row in rows],
                         [("0", "node1", "0"), ("1", "node2", "0"), ("2", "node2", "1"), ("3", "node1", "1")])
        self.assertEqual({row[8] for row in rows}, {"(vector,(0,1,1),(1,1,2))"})

    def test_spawn_info_chooses_another_host(self):
        result = self.run_dlaunch("-n", 2, "-N", 1, "-H", "node1:1,node2:1", *parent((3, CHILD, [("host", "node2")]), then="if rank == 0: lookup('up')\nbarrier()\nfinalize()"))
        self.assert_exit(result, 0)
        self.assertEqual({line.split()[7] for line in lines(result.stdout)}, {"node2"})
        result = self.run_dlaunch("-n", 2, "-N", 1, "-H", "node1:1,node2:1", *parent((1, CHILD, [("hosts", "node2,node9")])))
        self.assert_exit(result, 0)
        self.assertIn('rank 0 cannot spawn: unknown host "node9"', result.stderr.decode())

    def test_spawned_ranks_use_hosts_without_ranks(self):
        result = self.run_dlaunch("--report", "job.json", "-n", 1, "-H", "node1:1,node2:2", *parent(
            (2, CHILD, []), (1, CHILD, [("host", "node1")]), before="assert ask('cmd=get_universe_size').endswith('size=3\\n')",
            then="lookup('up')\nfinalize()"))
        self.assert_exit(result, 0)
        rows = sorted(line.split()[1:] for line in lines(result.stdout))
        self.assertEqual([(row[0], row[6], row[7]) for row in rows], [("0", "node2", "0"), ("1", "node2", "1"), ("2", "node1", "0")])
        self.assertEqual([rank["host"] for rank in json.loads((self.dir / "job.json").read_text())["ranks"]],
                         ["node1", "node2", "node2", "node1"])

    @promise(NAMES_FIRST, mode=(SPAWN, START))
    def test_unreachable_host_rejects_the_spawn(self):
        self.host(2).kill_sshd()
        result = self.run_dlaunch("-n", 1, "-H", "node1:2,node2:1", *parent((1, CHILD, [("host", "node2")])))
        self.assert_exit(result, 0)
        self.assertRegex(result.stderr.decode(), r"rank 0 cannot spawn: node2: .*[Rr]efused")
        self.assertIn("spawn_result rc=-1 ", result.stderr.decode())

    @promise(ENDS, NAMES_FIRST, mode=(SPAWN, FAILURE))
    def test_failure_on_a_late_host_ends_the_job(self):
        result = self.run_dlaunch("-n", 1, "-H", "node1:1,node2:1", *parent((1, ["sh", "-c", "exit 7"], []), then="time.sleep(1000)"))
        self.assert_exit(result, 7)
        self.assertRegex(support.cause(result.stderr), r"rank 2/0 \(host node2, .*\) exited with code 7")

    @promise(ENDS, NAMES_FIRST, mode=SPAWN)
    def test_dead_spawned_rank_releases_its_world(self):
        result = self.run_dlaunch("--on-failure", "continue", "-n", 2, "-N", 1, "-H", "node1:2,node2:2",
                                  *parent((2, "init()\ntell_pid()\nif rank: os._exit(5)\nassert barrier() == ''\nos._exit(5)", []), then="until_ended(0, 1)\nassert barrier() == 'cmd=barrier_out\\n'\nfinalize()"))
        self.assert_exit(result, 5)
        self.assertIn("rank 2/1 has left MPI or never entered MPI", result.stderr.decode())


if __name__ == "__main__":
    support.main()
