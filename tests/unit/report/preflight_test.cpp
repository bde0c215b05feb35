// What `dlaunch check` prints, as golden text.
#include "report/preflight.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace dlaunch::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Results of `count` hosts without findings; all hosts know each other.
Preflight good(size_t count) {
  Preflight preflight;
  preflight.elapsed = std::chrono::milliseconds(1500);
  for (size_t i = 0; i < count; ++i) {
    CheckedHost host;
    host.name = host.kernel_name = host.identity = "node" + std::to_string(i + 1);
    host.agent_version = "1.2.3";
    host.cpus = 64;
    host.device_kind = "nvidia";
    host.devices = {0, 1, 2, 3};
    host.clock_offset = 0.04;
    host.clock_error = 0.001;
    host.shm_free = std::int64_t{3} << 30;
    host.open_files = 1024;
    host.directories = {{"/work", "/work", ""}};
    host.programs = {{"python3", "/usr/bin/python3", ""}};
    host.addresses.assign(count, "10.0.0.1");
    preflight.hosts.push_back(host);
  }
  return preflight;
}

TEST(Preflight, HasNoFindingsIfAllChecksSucceed) {
  const Preflight preflight = good(2);
  EXPECT_EQ(to_table(preflight),
            "host   agent  cpus  devices     directory  program           clock  /dev/shm free  open files  names\n"
            "node1  1.2.3  64    nvidia 0-3  yes        /usr/bin/python3  right  3.0 GiB        1024        all\n"
            "node2  1.2.3  64    nvidia 0-3  yes        /usr/bin/python3  right  3.0 GiB        1024        all\n");
  EXPECT_EQ(findings_text(preflight), "");
  EXPECT_EQ(exit_code(preflight), 0);
}

TEST(Preflight, ReportsEachFailedCheck) {
  Preflight preflight = good(3);
  for (size_t i = 0; i < 2; ++i) {
    preflight.hosts[i].directories = {{"/work", "/work", "No such file or directory"}};
    preflight.hosts[i].addresses[2] = "";
  }
  preflight.hosts[1].programs = {{"python3", "", "program \"python3\": not found in PATH"}};
  preflight.hosts[2].clock_offset = -12.34;
  preflight.hosts[2].addresses[0] = "127.0.0.1 ::1";
  preflight.hosts[2].addresses[2] = "127.0.1.1";
  preflight.hosts[2].devices = {};
  preflight.hosts[2].shm_free.reset();
  preflight.hosts[2].open_files.reset();
  EXPECT_EQ(to_table(preflight),
            "host   agent  cpus  devices     directory  program           clock    /dev/shm free  open files  names\n"
            "node1  1.2.3  64    nvidia 0-3  no         /usr/bin/python3  right    3.0 GiB        1024        2 of 3\n"
            "node2  1.2.3  64    nvidia 0-3  no         no                right    3.0 GiB        1024        2 of 3\n"
            "node3  1.2.3  64    none        yes        /usr/bin/python3  -12.3 s  none           no limit    all\n");
  EXPECT_EQ(
      findings_text(preflight),
      "dlaunch: note: node3: resolves its own name to a loopback address, which other hosts cannot reach\n"
      "dlaunch:   set the host's address in /etc/hosts there, or set NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME to an "
      "interface\n"
      "dlaunch: node[1-2]: cannot resolve node3\n"
      "dlaunch:   add the name to /etc/hosts there, or to DNS: ranks connect to each other by name\n"
      "dlaunch: node[1-2]: cannot enter the working directory /work: No such file or directory\n"
      "dlaunch:   create the directory on the host, share it, or set another with --wdir\n"
      "dlaunch: node2: program \"python3\": not found in PATH\n"
      "dlaunch:   install the program on the host, or give its path there\n"
      "dlaunch: node3: resolves node1 to a loopback address\n"
      "dlaunch:   use a name of the host that all other hosts can connect to\n"
      "dlaunch: node3: the clock differs from the launcher's clock by -12.3 s\n"
      "dlaunch:   run NTP on the host: the times in logs and the order of failures depend on the clock\n");
  EXPECT_EQ(exit_code(preflight), 1);
}

TEST(Preflight, HasAColumnForScriptsIfThereAreAny) {
  Preflight preflight = good(3);
  for (CheckedHost& host : preflight.hosts) host.scripts = {{"train.py", "/work/train.py", ""}};
  preflight.hosts[1].scripts[0] = {"train.py", "", "cannot read train.py (from /work): No such file or directory"};
  preflight.hosts[2].lost = "refused";
  EXPECT_EQ(to_table(preflight),
            "host   agent        cpus  devices     directory  program           script  clock  /dev/shm free  open "
            "files  names\n"
            "node1  1.2.3        64    nvidia 0-3  yes        /usr/bin/python3  yes     right  3.0 GiB        1024     "
            "   all\n"
            "node2  1.2.3        64    nvidia 0-3  yes        /usr/bin/python3  no      right  3.0 GiB        1024     "
            "   all\n"
            "node3  not reached  -     -           -          -                 -       -      -              -        "
            "   -\n");
  preflight.hosts.pop_back();
  for (CheckedHost& host : preflight.hosts) host.addresses.pop_back();
  EXPECT_EQ(findings_text(preflight),
            "dlaunch: node2: cannot read train.py (from /work): No such file or directory\n"
            "dlaunch:   put the script on the host, share its directory, or set another with --wdir\n");
  EXPECT_EQ(exit_code(preflight), 1);
  const auto json = nlohmann::json::parse(to_json(preflight));
  EXPECT_EQ(json["hosts"][0]["scripts"][0]["found"], "/work/train.py");
  EXPECT_EQ(json["hosts"][1]["scripts"][0]["found"], nullptr);
  EXPECT_THAT(json["hosts"][1]["scripts"][0]["why_not"].get<std::string>(), HasSubstr("No such file"));
}

TEST(Preflight, ReportsHostsWithoutConnection) {
  Preflight preflight = good(3);
  for (size_t i = 0; i < 2; ++i) {
    preflight.hosts[i].lost = "cannot connect to port 22: Connection refused";
    preflight.hosts[i].hint = "is sshd running there?";
  }
  EXPECT_EQ(
      to_table(preflight),
      "host   agent        cpus  devices     directory  program           clock  /dev/shm free  open files  names\n"
      "node1  not reached  -     -           -          -                 -      -              -           -\n"
      "node2  not reached  -     -           -          -                 -      -              -           -\n"
      "node3  1.2.3        64    nvidia 0-3  yes        /usr/bin/python3  right  3.0 GiB        1024        all\n");
  EXPECT_EQ(findings_text(preflight),
            "dlaunch: cannot use 2 hosts:\n"
            "dlaunch: node[1-2]: cannot connect to port 22: Connection refused\n"
            "dlaunch:   is sshd running there?\n");
  EXPECT_EQ(exit_code(preflight), 125);
}

TEST(Preflight, ManyEqualHostsShareARow) {
  Preflight preflight = good(100);
  preflight.hosts[49].cpus = 32;
  EXPECT_EQ(
      to_table(preflight),
      "host               agent  cpus  devices     directory  program           clock  /dev/shm free  open files  "
      "names\n"
      "node[1-49,51-100]  1.2.3  64    nvidia 0-3  yes        /usr/bin/python3  right  3.0 GiB        1024        "
      "all\n"
      "node50             1.2.3  32    nvidia 0-3  yes        /usr/bin/python3  right  3.0 GiB        1024        "
      "all\n");
}

TEST(Preflight, NotesTwoNamesOfOneHost) {
  Preflight preflight = good(2);
  preflight.hosts[1].identity = preflight.hosts[0].identity;
  EXPECT_EQ(findings_text(preflight), "dlaunch: note: node[1-2]: names of the same host; each name would get ranks\n");
  EXPECT_EQ(exit_code(preflight), 0);
}

TEST(Preflight, ClockWithinTheMeasurementErrorIsRight) {
  Preflight preflight = good(1);
  preflight.hosts[0].clock_offset = 3;
  preflight.hosts[0].clock_error = 3.5;
  EXPECT_THAT(findings(preflight), IsEmpty());
  EXPECT_THAT(to_table(preflight), HasSubstr("right"));
  preflight.hosts[0].clock_error = 1.9;
  EXPECT_THAT(findings(preflight), testing::SizeIs(1));
}

TEST(Preflight, ReportsUnresolvedNames) {
  Preflight preflight = good(2);
  preflight.hosts[0].unresolved = "timed out after 10 s waiting for getent";
  preflight.hosts[0].addresses[1] = "";
  EXPECT_THAT(to_table(preflight), HasSubstr("1 of 2\n"));
  EXPECT_THAT(findings_text(preflight),
              testing::StartsWith("dlaunch: node1: cannot resolve node2: timed out after 10 s waiting for getent\n"
                                  "dlaunch:   check getent and the name servers"));
  EXPECT_EQ(exit_code(preflight), 1);
}

TEST(Preflight, EscapesControlCharactersOfHosts) {
  Preflight preflight = good(1);
  preflight.hosts[0].agent_version = "\x1b[2J";
  EXPECT_THAT(to_table(preflight), HasSubstr("\\x1b[2J"));
}

TEST(Preflight, FormatsAsJson) {
  Preflight preflight = good(2);
  preflight.hosts[1].lost = "cannot connect";
  preflight.hosts[0].programs = {{"python3", "", "not there"}};
  preflight.hosts[0].shm_free.reset();
  const auto json = nlohmann::json::parse(to_json(preflight));
  EXPECT_EQ(json["ok"], false);
  EXPECT_EQ(json["hosts"][0]["programs"][0]["found"], nullptr);
  EXPECT_EQ(json["hosts"][0]["programs"][0]["why_not"], "not there");
  EXPECT_EQ(json["hosts"][0]["addresses_of"]["node2"], "10.0.0.1");
  EXPECT_EQ(json["hosts"][0]["shm_free_bytes"], nullptr);
  EXPECT_EQ(json["hosts"][1]["reached"], false);
  EXPECT_EQ(json["hosts"][1]["why"], "cannot connect");
  EXPECT_EQ(json["findings"][0]["what"], "not there");
  EXPECT_THAT(json["findings"][0]["hosts"], ElementsAre("node1"));
}

}  // namespace
}  // namespace dlaunch::report
