#include "launcher/frames.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "output/file_layout.h"
#include "plan/rank_table.h"
#include "pmi/mapping.h"

namespace dlaunch::launcher {
namespace {

using output::Stream;
using wire::StreamMode;

constexpr std::uint32_t kCreditPerHost = 16u << 20;  // bytes, over all streams of a host
constexpr std::uint32_t kMinCredit = 16u << 10;
constexpr std::uint32_t kMaxCredit = 1u << 20;

wire::Spawn spawn_frame(const plan::Plan& plan, const plan::Rank& rank, const Settings& settings,
                        const output::RankFacts& facts) {
  const auto number = static_cast<std::uint32_t>(rank.rank);
  const int ranks = static_cast<int>(plan.ranks.size());
  wire::Spawn spawn;
  spawn.rank = number;
  spawn.app = static_cast<std::uint32_t>(rank.app);
  spawn.local_rank = static_cast<std::uint32_t>(rank.local_rank);
  spawn.env = rank.env;
  spawn.slots = rank.slots;
  spawn.dir = rank.dir;
  spawn.save_env = settings.save_env;
  spawn.in = takes_stdin(settings.stdin_target, rank.rank) ? StreamMode::pipe : StreamMode::null;
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

/// The ranks' output files that are in one of these directories.
std::vector<std::string> files_below(const std::vector<std::string>& dirs, const Settings& settings,
                                     const std::vector<output::RankFacts>& facts) {
  const int ranks = output::count_ranks(facts);
  std::vector<std::string> files;
  for (int rank = 0; rank < static_cast<int>(facts.size()); ++rank) {
    for (const Stream stream : {Stream::out, Stream::err}) {
      const auto file =
          output::file_path(*settings.output.files, facts[static_cast<size_t>(rank)], rank, ranks, stream);
      std::string name = std::filesystem::path(file).lexically_normal().string();
      const bool below = std::ranges::any_of(dirs, [&](const std::string& dir) { return name.starts_with(dir + '/'); });
      if (below) files.push_back(std::move(name));
    }
  }
  return files;
}

/// Numbered after the last rank, and bound to nothing.
wire::Spawn companion_frame(const plan::Plan& plan) {
  wire::Spawn spawn;
  spawn.rank = static_cast<std::uint32_t>(plan.ranks.size());
  spawn.app = static_cast<std::uint32_t>(plan.companion->app);
  spawn.local_rank = static_cast<std::uint32_t>(plan.hosts[static_cast<size_t>(plan.companion->host)].ranks.size());
  spawn.env = plan.companion->env;
  spawn.dir = plan.companion->dir;
  spawn.err = StreamMode::joined;
  return spawn;
}

/// UUIDs number devices by their place in a list, which is not the machine's.
void add_devices(const plan::Plan& plan, int host, wire::Layout& layout) {
  const plan::PlannedHost& planned = plan.hosts[static_cast<size_t>(host)];
  layout.device_kind = static_cast<std::uint8_t>(planned.host.device_kind);
  for (const int rank : planned.ranks) {
    const auto& device = plan.ranks[static_cast<size_t>(rank)].device;
    const bool known = device && planned.host.uuids.empty();
    layout.devices.push_back(known ? static_cast<std::uint32_t>(*device) : wire::kNoDevice);
  }
}

wire::Layout layout_frame(const plan::Plan& plan, int host, const Settings& settings) {
  const int local_ranks = static_cast<int>(plan.hosts[static_cast<size_t>(host)].ranks.size());
  wire::Layout layout;
  layout.credit = first_credit(local_ranks);
  layout.bind_to = static_cast<std::uint8_t>(plan.binding.bind_to);
  layout.map_by = static_cast<std::uint8_t>(plan.binding.map_by);
  layout.rank_by = static_cast<std::uint8_t>(plan.binding.rank_by);
  layout.local_ranks = static_cast<std::uint32_t>(local_ranks);
  layout.cores_per_rank = static_cast<std::uint32_t>(plan.binding.cores_per_rank);
  layout.if_supported = plan.binding.if_supported;
  layout.oversubscribe = settings.oversubscribe || plan.binding.overload;
  layout.report_cpus = plan.binding.report;
  if (plan.binding.bind_to == plan::BindTo::device) add_devices(plan, host, layout);
  return layout;
}

wire::MpiWorld world_frame(const plan::Plan& plan) {
  const auto ranks = static_cast<std::uint32_t>(plan.ranks.size());
  std::vector<int> hosts;
  hosts.reserve(plan.ranks.size());
  for (const plan::Rank& rank : plan.ranks) hosts.push_back(rank.host);
  std::uint32_t slots = 0;
  for (const plan::PlannedHost& host : plan.hosts) {
    slots += std::max(static_cast<std::uint32_t>(host.host.slots), static_cast<std::uint32_t>(host.ranks.size()));
  }
  wire::MpiWorld world;
  world.space = "kvs_" + plan.job_id;
  world.size = ranks;
  world.universe = slots;
  world.mapping = pmi::process_mapping(hosts);
  world.alone = plan.hosts.size() == 1;
  world.probe = plan.mpi == plan::Mpi::automatic;
  world.pmi1 = plan.mpi == plan::Mpi::automatic || plan.mpi == plan::Mpi::pmi1;
  return world;
}

}  // namespace

std::vector<wire::Message> start_frames(const plan::Plan& plan, int host, const Settings& settings,
                                        const std::vector<output::RankFacts>& facts) {
  std::vector<wire::Message> frames{layout_frame(plan, host, settings)};
  const bool here = plan.hosts[static_cast<size_t>(host)].host.local;
  if (const auto& table = plan.rank_table; table && !(here && !table->path.empty())) {
    frames.emplace_back(wire::File{table->name, std::string(plan::kRankTableVariable), table->text});
  }
  if (plan.mpi != plan::Mpi::none) frames.emplace_back(world_frame(plan));
  std::set<int> described;
  for (const int number : plan.hosts[static_cast<size_t>(host)].ranks) {
    const plan::Rank& rank = plan.ranks[static_cast<size_t>(number)];
    if (described.insert(rank.app).second) {
      const plan::App& app = plan.apps[static_cast<size_t>(rank.app)];
      frames.emplace_back(wire::Program{static_cast<std::uint32_t>(rank.app), app.argv,
                                        plan::program_environment(app, plan.hosts[static_cast<size_t>(host)]),
                                        plan::program_directory(app, plan.hosts[static_cast<size_t>(host)])});
    }
    frames.emplace_back(spawn_frame(plan, rank, settings, facts[static_cast<size_t>(number)]));
  }
  if (plan.companion && plan.companion->host == host) frames.push_back(companion_frame(plan));
  return frames;
}

wire::Prepare prepare_frame(const plan::Plan& plan, int host, const Settings& settings,
                            const std::vector<output::RankFacts>& facts) {
  wire::Prepare prepare;
  prepare.staged = settings.staged != nullptr;
  const plan::PlannedHost& planned = plan.hosts[static_cast<size_t>(host)];
  for (const int number : planned.ranks) {
    const plan::Rank& rank = plan.ranks[static_cast<size_t>(number)];
    prepare.dirs.push_back(rank.dir);
    const std::string& base = plan::program_directory(plan.apps[static_cast<size_t>(rank.app)], planned);
    prepare.bases.push_back(rank.dir.starts_with(base) ? base : "/");
  }
  if (settings.output.files) prepare.kept = files_below(prepare.dirs, settings, facts);
  return prepare;
}

std::vector<output::RankFacts> rank_facts(const plan::Plan& plan) {
  std::vector<output::RankFacts> facts;
  facts.reserve(plan.ranks.size());
  for (const plan::Rank& rank : plan.ranks) {
    facts.push_back({plan.hosts[static_cast<size_t>(rank.host)].host.name, rank.local_rank, rank.device});
  }
  if (plan.companion) {
    const std::string& host = plan.hosts[static_cast<size_t>(plan.companion->host)].host.name;
    facts.push_back({host, 0, {}, plan.companion->name});
  }
  return facts;
}

bool takes_stdin(const StdinTarget& target, int rank) {
  return target.kind == StdinTarget::Kind::all || (target.kind == StdinTarget::Kind::rank && target.rank == rank);
}

std::uint32_t first_credit(int local_ranks) {
  const auto streams = static_cast<std::uint32_t>(std::max(1, local_ranks)) * output::kStreams;
  return std::clamp(kCreditPerHost / streams, kMinCredit, kMaxCredit);
}

}  // namespace dlaunch::launcher
