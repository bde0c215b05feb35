// All that the user asked, with every default decided here and nowhere later. A value; `run` owns it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "dlaunch/hostfile.h"
#include "dlaunch/output.h"
#include "dlaunch/policy.h"
#include "dlaunch/request.h"
#include "ranktable/rules.h"

namespace dlaunch::cli {

using plan::StdinTarget;

enum class Format { text, json };

/// Whose defaults hold (cli/personality.h).
enum class Personality { dlaunch, open_mpi, hydra };

/// `dlaunch PROGRAM`, `dlaunch hosts`, `dlaunch check`.
enum class Verb { run, hosts, check };

/// --rank-table.
struct RankTableRequest {
  bool automatic = false;  ///< made of the plan; else the file's:
  std::string name;        ///< as it was typed
  std::string path;        ///< absolute
  std::string text;
};

struct Options {
  Options() { request.mpi = plan::Mpi::automatic; }

  Verb verb = Verb::run;
  plan::Request request;  ///< all but job_id, which the caller makes; `check` may name no program
  allocate::HostRequest hosts;
  output::OutputSettings output;
  StdinTarget stdin_target;
  job::Policy policy;
  std::string exec;                           ///< --exec: the command line that reaches other hosts; empty: ssh
  std::optional<plan::HostKey> host_key;      ///< empty: as the ssh configuration says, else strict
  std::string rsh_agent;                      ///< Open MPI's plm_rsh_agent
  std::string rsh_args;                       ///< and plm_rsh_args; together they are `exec`, when that is empty
  std::chrono::milliseconds wait_hosts{0};    ///< --wait-hosts
  int hosts_at_once = 64;                     ///< --hosts-at-once
  std::vector<std::string> stage;             ///< --stage; absolute names or patterns of files
  std::shared_ptr<const std::string> staged;  ///< those files as an archive, once they were read
  bool save_env = false;                      ///< --save-env

  std::optional<RankTableRequest> rank_table;
  std::optional<ranktable::Product> product;  ///< --product; empty: the usual one of the table's version

  bool check_ascend = false;  ///< check --ascend

  bool dry_run = false;
  Format format = Format::text;  ///< of --dry-run, --show-env, hosts and check
  std::optional<int> show_env;   ///< --show-env RANK
  std::string report_file;       ///< --report; absolute; empty: none
  int verbosity = 0;             ///< -v, -vv
  bool quiet = false;            ///< --quiet: no notes
  bool show_map = false;         ///< --display-map: the plan on stdout before the job starts
  bool show_allocation = false;  ///< --display-allocation
  std::string report_pid;        ///< --report-pid: "-", "+" or an absolute path; empty: not asked for

  std::vector<std::string> notes;  ///< of the command line itself, a line each, no prefix
};

/// What an option like --help asks: print and end.
struct ShowText {
  std::string text;
  int exit_code = 0;
};

using Command = std::variant<Options, ShowText>;

}  // namespace dlaunch::cli
