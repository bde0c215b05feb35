"""How the agent gets to a host: into an empty home, one that many hosts share, or one that will not have it, past any
login shell."""
import os
import shutil
import subprocess

import support
from hosts_case import AGENTS, HostsCase, lines

SHELLS = ("bash", "dash", "zsh", "fish", "tcsh")
RC_FILES = {"bash": ".bashrc", "zsh": ".zshenv", "fish": ".config/fish/config.fish", "tcsh": ".tcshrc"}


class Homes(HostsCase):
    def test_arrives_once(self):
        self.assert_succeeds("-H", "node1,node2", "true")
        for number in (1, 2):
            [agent] = self.agents(number)
            self.assertRegex(agent, rf"^{AGENTS}/[0-9a-f]{{64}}/dlaunch-agent$")
            self.assertEqual(self.host(number).sh(f"stat -c %a {agent} {os.path.dirname(agent)}").split(), ["700", "700"])
        before = self.host(1).sh(f"find {AGENTS} -printf '%p %i %T@\n'")
        self.assert_succeeds("-H", "node1,node2", "true")
        self.assertEqual(self.host(1).sh(f"find {AGENTS} -printf '%p %i %T@\n'"), before)

    def bind(self, number, path, text):
        """That file on that host alone is this."""
        shim = self.bed.dir / f"{os.path.basename(path)}.{number}"
        shim.write_text(text)
        shim.chmod(0o755)
        self.host(number).sh(f"mount --bind {shim} {path}")

    def make_machine_another(self, number):
        self.bind(number, "/usr/bin/uname", "#!/bin/sh\necho riscv64\n")
        if os.path.exists("/proc/sys/kernel/arch"):
            self.bind(number, "/proc/sys/kernel/arch", "riscv64\n")

    def test_one_that_is_not_whole_is_sent_again(self):
        self.run_dlaunch("-H", "node1", "true")
        agent, = self.agents(1)
        for damage in (": >{0}", "truncate -s 100000 {0}", "printf damage | dd of={0} bs=1 seek=5000 conv=notrunc status=none"):
            self.host(1).sh(damage.format(agent))
            self.assert_succeeds("-H", "node1", "true")
        self.assertEqual(self.host(1).sh(f"sha256sum <{agent}").split()[0], os.path.basename(os.path.dirname(agent)))

    def test_one_that_another_user_planted_is_never_run(self):
        """As root on that host, in a cache that all share and in one that is that user's."""
        self.assert_succeeds("-H", "node1", "true")
        agent, = self.agents(1)
        self.host(1).sh(f"mv {AGENTS} /run/{os.path.basename(AGENTS)}; mkdir -p /run/planted; cp -r /run/dlaunch /run/planted;"
                        f" printf '#!/bin/sh\ntouch /run/was-run\n' >/run/planted/{os.path.relpath(agent, os.path.dirname(AGENTS))};"
                        " chown -R 4321:4321 /run/planted")
        way = f"nsenter -t {self.host(1).pid} -a env HOME=/root XDG_CACHE_HOME=/run/planted"
        for mode, owner in (("755", "4321"), ("1777", "0")):
            self.host(1).sh(f"chmod {mode} /run/planted; chown {owner} /run/planted")
            self.assert_succeeds("--exec", way, "-H", "node1", "true")
            self.assertEqual(self.host(1).sh("ls /run/was-run 2>/dev/null || true"), "")
        self.assertEqual(self.agents(1), [agent])
        self.host(1).sh(f"rm -r {AGENTS}; ln -s /run/planted/dlaunch {AGENTS}")
        result = self.run_dlaunch("-H", "node1", "sleep", "1000")
        self.assert_told(result, 125, "node1", "/run/planted/dlaunch belongs to user 4321", "--agent-path")

    def test_home_is_read_only(self):
        self.host(2).sh("mount -o remount,ro /root")
        result = self.run_dlaunch("-H", "node1,node2", "sleep", "1000")
        self.assert_told(result, 125, "node2", "read-only", os.path.dirname(AGENTS))

    def test_home_is_full(self):
        self.host(2).sh("mount -o remount,size=64k /root")
        result = self.run_dlaunch("-H", "node1,node2", "sleep", "1000")
        self.assert_told(result, 125, "node2", "full", AGENTS)
        self.assertEqual(self.agents(2), [])

    def test_home_is_noexec(self):
        self.host(2).sh("mount -o remount,noexec /root")
        result = self.run_dlaunch("-H", "node1,node2", "sleep", "1000")
        self.assert_told(result, 125, "node2", "noexec", AGENTS)

    def test_machine_is_another(self):
        self.make_machine_another(2)
        result = self.run_dlaunch("-H", "node1,node2", "sleep", "1000")
        self.assert_told(result, 125, "node2", "riscv64", "x86_64", "--agent-path")
        self.assertEqual(self.agents(2), [])

    def test_machine_is_another_and_shares_its_home(self):
        self.assert_succeeds("-H", "node2", "true")
        self.make_machine_another(2)
        result = self.run_dlaunch("-H", "node1,node2", "sleep", "1000")
        self.assert_told(result, 125, "node2", "riscv64", "x86_64", "--agent-path")

    def test_installed_agent_is_started_and_none_is_sent(self):
        self.assert_succeeds("-H", "node1", "true")
        for number in (1, 2):
            shutil.copyfile(f"/proc/{self.host(1).pid}/root{self.agents(1)[0]}",
                            f"/proc/{self.host(number).pid}/root/run/dlaunch-agent")
            self.host(number).sh("chmod 755 /run/dlaunch-agent")
        self.host(1).sh(f"rm -r {AGENTS}")
        options = "-H", "node1,node2", "--agent-path"
        self.assertEqual(sorted(lines(self.assert_succeeds(*options, "/run/dlaunch-agent", "uname", "-n"))), ["node1", "node2"])
        self.assertEqual(self.agents(1) + self.agents(2), [])
        self.host(2).sh("rm /run/dlaunch-agent")
        result = self.run_dlaunch(*options, "/run/dlaunch-agent", "sleep", "1000")
        self.assert_told(result, 125, "node2", "agent not found or not executable: /run/dlaunch-agent")

    def test_agents_that_nobody_used_for_a_month_go(self):
        self.host(1).sh(f"mkdir -p {AGENTS}/old {AGENTS}/used; echo a >{AGENTS}/old/dlaunch-agent; echo b >{AGENTS}/used/dlaunch-agent;"
                        f" echo half >{AGENTS}/old/new.1; touch -d '40 days ago' {AGENTS}/old/*; touch -d '20 days ago' {AGENTS}/used/*;"
                        f" mkdir {AGENTS}/empty; touch -d '2 days ago' {AGENTS}/empty")
        self.assert_succeeds("-H", "node1", "true")
        self.assertEqual(self.host(1).sh(f"cd {AGENTS}; ls -d old used empty 2>/dev/null; ls old 2>/dev/null; true").split(), ["old", "used"])
        self.assertEqual(len(self.agents(1)), 2)

    def test_many_jobs_at_once_with_one_empty_home(self):
        """Not by ssh: what 50 jobs cost there is sshd's, and this is about the home."""
        home = self.bed.dir / "home"
        home.mkdir()
        for host in self.bed.hosts.values():
            host.sh(f"mount --bind {home} /root")
            (self.dir / f"{host.name}.pid").write_text(f"{host.pid}\n")
        enter = " ".join(self.host(1).command([])).replace(str(self.host(1).pid), "$(cat {host}.pid)", 1)
        jobs = [self.start("--exec", enter, "-H", "node1,node2", "echo", str(number), stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, stdin=subprocess.DEVNULL) for number in range(50)]
        for number, job in enumerate(jobs):
            result, _ = self.finish(job, 60)
            self.assert_exit(result, 0)
            self.assertEqual(result.stdout, f"{number}\n".encode() * 2)
        self.assertEqual(len(self.agents(1)), 1)
        self.assertEqual(self.agents(1), self.agents(2))


class OneHome(HostsCase):
    count = 8

    def test_first_starts_side_by_side(self):
        home = self.bed.dir / "home"
        home.mkdir()
        for host in self.bed.hosts.values():
            host.sh(f"mount --bind {home} /root")
        names = [host.name for host in self.bed.hosts.values()]
        self.assertEqual(sorted(lines(self.assert_succeeds("-H", ",".join(names), "uname", "-n"))), names)
        self.assertEqual(len(self.agents(1)), 1)


class Shells(HostsCase):
    there = [shell for shell in SHELLS if shutil.which(shell)]
    shells = {f"node{number}": shutil.which(shell) for number, shell in enumerate(there, start=1)}
    count = len(there)

    def run_on_all(self):
        print("login shells:", *self.there, end=" ", flush=True)
        return self.assert_succeeds("-H", ",".join(self.shells), "sh", "-c", 'echo "$(uname -n) is $DLAUNCH_RANK"')

    def test_any_login_shell(self):
        self.assertEqual(sorted(lines(self.run_on_all())), [f"node{rank + 1} is {rank}" for rank in range(self.count)])

    def test_rc_files_that_print(self):
        """100 kB to each of stdout and stderr."""
        noise = ("sh -c 'head -c 100000 /dev/zero | tr \"\\0\" x; echo; echo dlaunch: hello; "
                 "head -c 100000 /dev/zero | tr \"\\0\" y >&2; echo >/root/was-read'\n")
        noisy = [number for number, shell in enumerate(self.there, start=1) if shell in RC_FILES]
        for number in noisy:
            rc = RC_FILES[self.there[number - 1]]
            self.host(number).run(["sh", "-c", f"mkdir -p $(dirname /root/{rc}) && cat >/root/{rc}"], input=noise)
        self.assertEqual(sorted(lines(self.run_on_all())), [f"node{rank + 1} is {rank}" for rank in range(self.count)])
        for number in noisy:
            self.host(number).sh("[ -e /root/was-read ]")


if __name__ == "__main__":
    support.main()
