#include "launcher/frames.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/index_cast.h"
#include "link/heartbeat.h"
#include "output/file_layout.h"
#include "plan/environment.h"

namespace dlaunch::launcher {
namespace {

using output::Stream;
using wire::StreamMode;

constexpr std::uint32_t kCreditPerHost = 16u << 20;  // bytes, over all streams of a host
constexpr std::uint32_t kMinCredit = 16u << 10;
constexpr std::uint32_t kMaxCredit = 1u << 20;

/// `local` is the rank's number among the ranks on its host, of all worlds.
wire::Spawn spawn_frame(const plan::Plan& plan, int id, size_t local, const JobOptions& settings,
                        const output::RankFacts& facts) {
  const plan::Rank& rank = plan.rank(id);
  const int ranks = plan.worlds.size(facts.world, static_cast<int>(plan.ranks.size()));
  wire::Spawn spawn;
  spawn.rank = static_cast<std::uint32_t>(id);
  spawn.app = static_cast<std::uint32_t>(rank.app);
  spawn.local_rank = static_cast<std::uint32_t>(local);
  spawn.env = rank.env;
  spawn.slots = rank.slots;
  spawn.dir = rank.dir;
  spawn.save_env = settings.save_env && facts.world == 1;
  if (settings.keys && facts.world == 1) {
    spawn.in = StreamMode::pty;
  } else {
    spawn.in = takes_stdin(settings.stdin_target, plan, id) ? StreamMode::pipe : StreamMode::null;
  }
  spawn.out = settings.output.pty ? StreamMode::pty : StreamMode::pipe;
  spawn.err = settings.output.pty || settings.output.merge_stderr ? StreamMode::joined : StreamMode::pipe;
  if (settings.output.pty) return spawn;
  spawn.out_path = output::direct_path(settings.output, facts, rank.rank, ranks, Stream::out);
  if (!spawn.out_path.empty()) spawn.out = StreamMode::file;
  if (settings.output.merge_stderr) return spawn;
  spawn.err_path = output::direct_path(settings.output, facts, rank.rank, ranks, Stream::err);
  if (!spawn.err_path.empty()) spawn.err = StreamMode::file;
  return spawn;
}

/// The ranks' output files below one of these directories.
std::vector<std::string> files_below(const std::vector<std::string>& dirs, const plan::Plan& plan,
                                     const JobOptions& settings, const std::vector<output::RankFacts>& facts) {
  const int ranks = output::count_ranks(facts);
  std::vector<std::string> files = error_files(plan);
  for (int rank = 0; settings.output.files && rank < static_cast<int>(facts.size()); ++rank) {
    for (const Stream stream : {Stream::out, Stream::err})
      files.push_back(output::file_path(*settings.output.files, at_index(facts, rank), rank, ranks, stream));
  }
  for (std::string& file : files) file = std::filesystem::path(file).lexically_normal().string();
  std::erase_if(files, [&](const std::string& name) {
    return std::ranges::none_of(dirs, [&](const std::string& dir) { return name.starts_with(dir + '/'); });
  });
  return files;
}

/// The number of the sidecar's own program: the number after the last app.
int sidecar_program(const plan::Plan& plan) { return static_cast<int>(plan.apps.size()); }

/// The sidecar has the number after the last rank and is not bound.
wire::Spawn sidecar_frame(const plan::Plan& plan) {
  wire::Spawn spawn;
  spawn.rank = static_cast<std::uint32_t>(plan.ranks.size());
  spawn.app = static_cast<std::uint32_t>(plan.sidecar->argv.empty() ? plan.sidecar->app : sidecar_program(plan));
  spawn.local_rank = static_cast<std::uint32_t>(plan.host(plan.sidecar->host).ranks.size());
  spawn.env = plan.sidecar->env;
  spawn.dir = plan.sidecar->dir;
  spawn.err = StreamMode::joined;
  return spawn;
}

/// Devices named by UUID are numbered by their position in the list, not as on the machine.
void add_devices(const plan::Plan& plan, int host, wire::Layout& layout) {
  const plan::PlannedHost& planned = plan.host(host);
  layout.device_kind = static_cast<std::uint8_t>(planned.host.device_kind);
  for (const int rank : planned.ranks) {
    const auto& device = plan.rank(rank).device;
    const bool known = device && planned.host.uuids.empty();
    layout.devices.push_back(known ? static_cast<std::uint32_t>(*device) : wire::kNoDevice);
  }
}

wire::Layout layout_frame(const plan::Plan& plan, int host) {
  const int local_ranks = ranks_at_start(plan, host);
  wire::Layout layout;
  layout.credit = first_credit(local_ranks);
  layout.bind_to = static_cast<std::uint8_t>(plan.binding.bind_to);
  layout.map_by = static_cast<std::uint8_t>(plan.binding.map_by);
  layout.rank_by = static_cast<std::uint8_t>(plan.binding.rank_by);
  layout.local_ranks = static_cast<std::uint32_t>(local_ranks);
  layout.cores_per_rank = static_cast<std::uint32_t>(plan.binding.cores_per_rank);
  layout.if_supported = plan.binding.if_supported;
  layout.oversubscribe = plan.binding.overload;
  layout.report_cpus = plan.binding.report;
  layout.error_files =
      plan.restarts > 0 || std::ranges::find(plan.frameworks, plan::Framework::torchrun) != plan.frameworks.end();
  layout.restart_possible = plan.restarts > 0;
  if (plan.binding.bind_to == plan::BindTo::device) add_devices(plan, host, layout);
  return layout;
}

void add_ranks(const plan::Plan& plan, int host, const JobOptions& settings,
               const std::vector<output::RankFacts>& facts, std::vector<wire::Message>& frames) {
  const plan::PlannedHost& planned = plan.host(host);
  const auto first = std::ranges::lower_bound(planned.ranks, plan.worlds.first(plan.worlds.last()));
  std::set<int> described;
  for (auto local = static_cast<size_t>(first - planned.ranks.begin()); local < planned.ranks.size(); ++local) {
    const int id = planned.ranks[local];
    const int number = plan.rank(id).app;
    if (described.insert(number).second) {
      const plan::App& app = plan.app(number);
      frames.emplace_back(wire::Program{static_cast<std::uint32_t>(number), app.argv,
                                        plan::program_environment(app, planned),
                                        plan::program_directory(app, planned)});
    }
    frames.emplace_back(spawn_frame(plan, id, local, settings, at_index(facts, id)));
  }
}

output::RankFacts facts_of(const plan::Plan& plan, const plan::Rank& rank) {
  const plan::Host& host = plan.host_of(rank).host;
  output::RankFacts facts{host.name, rank.local_rank, rank.device};
  facts.local = host.local;
  if (plan.restarts > 0) facts.round = plan.round;
  facts.attempt = plan.attempt.value_or(0);
  return facts;
}

}  // namespace

std::uint32_t lease_ms(const plan::Plan& plan, const JobOptions& settings, const Hosts& hosts, bool may_follow,
                       int host) {
  const auto first = static_cast<int>(plan.hosts.size());
  const std::vector<int>& ranks = plan.host(host).ranks;
  const bool is_added = ranks.empty() || plan.worlds.place(ranks.front()).world > 1;
  bool replaceable = settings.policy.shrink || is_added;
  for (int spare = first; spare < first + static_cast<int>(plan.replacements.size()); ++spare) {
    replaceable = replaceable || !hosts.is_lost(spare);
  }
  if (hosts.reconnects(host) && (!may_follow || !replaceable)) return 0;
  return static_cast<std::uint32_t>(settings.heartbeat.count() * link::Lease::kBeats);
}

std::vector<wire::Message> start_frames(const plan::Plan& plan, int host, const JobOptions& settings,
                                        const std::vector<output::RankFacts>& facts,
                                        std::vector<wire::Message> shared) {
  std::vector<wire::Message> frames{layout_frame(plan, host)};
  const bool here = plan.host(host).host.local;
  if (const auto& table = plan.rank_table; table && !(here && !table->path.empty())) {
    frames.emplace_back(wire::JobFile{table->name, std::string(plan::kRankTableVariable), table->text});
  }
  std::ranges::move(shared, std::back_inserter(frames));
  add_ranks(plan, host, settings, facts, frames);
  if (const auto& sidecar = plan.sidecar; sidecar && sidecar->host == host) {
    if (!sidecar->argv.empty()) {
      const plan::App& app = plan.app(sidecar->app);
      frames.emplace_back(wire::Program{static_cast<std::uint32_t>(sidecar_program(plan)), sidecar->argv,
                                        plan::program_environment(app, plan.host(host)),
                                        plan::program_directory(app, plan.host(host))});
    }
    frames.emplace_back(sidecar_frame(plan));
  }
  return frames;
}

std::vector<wire::Message> world_frames(const plan::Plan& plan, int host, const JobOptions& settings,
                                        const std::vector<output::RankFacts>& facts,
                                        std::vector<wire::Message> shared) {
  add_ranks(plan, host, settings, facts, shared);
  return shared;
}

std::vector<int> newest_ranks(const plan::Plan& plan, int host) {
  const std::vector<int>& all = plan.host(host).ranks;
  return {std::ranges::lower_bound(all, plan.worlds.first(plan.worlds.last())), all.end()};
}

wire::Prepare prepare_frame(const plan::Plan& plan, int host, const JobOptions& settings,
                            const std::vector<output::RankFacts>& facts) {
  wire::Prepare prepare;
  prepare.staged = settings.staged != nullptr;
  prepare.later = plan.round > 0;
  const plan::PlannedHost& planned = plan.host(host);
  for (const int number : planned.ranks) {
    const plan::Rank& rank = plan.rank(number);
    prepare.dirs.push_back(rank.dir);
    const std::string& base = plan::program_directory(plan.app_of(rank), planned);
    prepare.bases.push_back(rank.dir.starts_with(base) ? base : "/");
  }
  prepare.kept = files_below(prepare.dirs, plan, settings, facts);
  return prepare;
}

std::vector<std::string> error_files(const plan::Plan& plan) {
  std::set<std::string> files;
  for (const plan::Rank& rank : plan.ranks) {
    const auto path = variable(rank.env, kErrorFileVariable);
    if (path && plan.host_of(rank).host.local) files.emplace(*path);
  }
  return {files.begin(), files.end()};
}

std::vector<output::RankFacts> rank_facts(const plan::Plan& plan) {
  std::vector<output::RankFacts> facts;
  facts.reserve(plan.ranks.size());
  for (const plan::Rank& rank : plan.ranks) facts.push_back(facts_of(plan, rank));
  if (plan.sidecar) {
    const std::string& host = plan.host(plan.sidecar->host).host.name;
    facts.push_back({host, 0, {}, plan.sidecar->name});
    if (plan.restarts > 0) facts.back().round = plan.round;
    facts.back().attempt = plan.attempt.value_or(0);
  }
  return facts;
}

std::vector<output::RankFacts> rank_facts(const plan::Plan& plan, const plan::SpawnPlan& spawned) {
  std::vector<output::RankFacts> facts;
  for (const plan::Rank& rank : spawned.ranks) {
    facts.push_back(facts_of(plan, rank));
    facts.back().world = plan.worlds.last() + 1;
    facts.back().first = static_cast<int>(plan.ranks.size());
  }
  return facts;
}

bool takes_stdin(const plan::StdinTarget& target, const plan::Plan& plan, int id) {
  if (plan.worlds.place(id).world != 1) return false;
  return target.kind == plan::StdinTarget::Kind::all ||
         (target.kind == plan::StdinTarget::Kind::rank && target.rank == id);
}

std::array<bool, output::kStreams> carried_streams(const plan::Plan& plan, const JobOptions& settings,
                                                   const output::RankFacts& facts, int id) {
  const output::OutputSettings& output = settings.output;
  const int ranks = plan.worlds.size(facts.world, static_cast<int>(plan.ranks.size()));
  const auto carried = [&](Stream stream) {
    return output.pty || output::direct_path(output, facts, id - facts.first, ranks, stream).empty();
  };
  const bool joined = output.pty || output.merge_stderr || !facts.name.empty();
  return {carried(Stream::out), !joined && carried(Stream::err)};
}

std::vector<int> hosts_of_ranks(const plan::Plan& plan) {
  std::vector<int> hosts;
  for (const plan::Rank& rank : plan.ranks) hosts.push_back(rank.host);
  return hosts;
}

std::vector<std::string> host_names(const plan::Plan& plan) {
  std::vector<std::string> names;
  for (const plan::PlannedHost& planned : plan.hosts) names.push_back(planned.host.name);
  return names;
}

int ranks_at_start(const plan::Plan& plan) { return plan.worlds.size(1, static_cast<int>(plan.ranks.size())); }

int ranks_at_start(const plan::Plan& plan, int host) {
  const std::vector<int>& ranks = plan.host(host).ranks;
  return static_cast<int>(std::ranges::lower_bound(ranks, ranks_at_start(plan)) - ranks.begin());
}

std::uint32_t first_credit(int local_ranks) {
  const auto streams = static_cast<std::uint32_t>(std::max(1, local_ranks)) * output::kStreams;
  return std::clamp(kCreditPerHost / streams, kMinCredit, kMaxCredit);
}

}  // namespace dlaunch::launcher
