#include "ascend/check_ascend.h"

#include <spdlog/logger.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "ascend/table_hosts.h"
#include "ascend/tables/hccn.h"
#include "base/environment.h"
#include "base/index_cast.h"
#include "plan/environment.h"
#include "report/preflight.h"
#include "settle/hosts.h"

namespace dlaunch::ascend {
namespace {

using launcher::QueriedHost;
using ranktable::Answer;
using ranktable::Command;
using report::CheckedDevice;
using report::NetHost;

constexpr int kTries = 3;  // a new detection may take a moment
constexpr std::chrono::seconds kBetweenTries{1};

/// Runs the rounds of queries over all hosts.
class Check {
 public:
  Check(const cli::Options& options, const plan::Allocation& allocation, session::HostSession& session)
      : hosts_(allocation.hosts), path_(ranks_path(options)), session_(session), found_(allocation.hosts.size()) {}

  /// Returns the signal that ended the check, or 0.
  int run() {
    const Time start = Clock::now();
    if (const int signal = find_addresses()) return signal;
    if (hosts_.size() > 1) {
      find_peers();
      if (const int signal = set_peers()) return signal;
    }
    for (int tries = 0; tries < kTries; ++tries) {
      if (tries > 0 && !any_fault()) break;
      if (tries > 0) std::this_thread::sleep_for(kBetweenTries);
      if (const int signal = ask_health()) return signal;
    }
    elapsed_ = Clock::now() - start;
    return 0;
  }

  report::NetCheck take() {
    report::NetCheck check{.hosts = {}, .lost = {}, .elapsed = elapsed_};
    for (size_t i = 0; i < hosts_.size(); ++i) {
      if (last_[i].loss) check.lost.push_back({hosts_[i].name, last_[i].loss->why, last_[i].loss->hint});
      if (!last_[i].loss) check.hosts.push_back(std::move(found_[i]));
    }
    return check;
  }

 private:
  static std::string ranks_path(const cli::Options& options) {
    if (options.request.apps.empty()) return search_path(options.request.environment);
    return search_path(
        plan::app_environment(options.request, options.request.apps.front(), options.request.cwd).entries);
  }

  /// The devices configured by the user, or of fake hosts; else the devices that the host reports.
  std::vector<long> devices_of(size_t host, const QueriedHost& known) const {
    const plan::Host& configured = hosts_[host];
    const bool other =
        configured.device_kind == plan::DeviceKind::nvidia || configured.device_kind == plan::DeviceKind::amd;
    if (!configured.devices.empty() && !other) return {configured.devices.begin(), configured.devices.end()};
    if (!known.facts || settle::device_kind(*known.facts) != plan::DeviceKind::ascend) return {};
    return {known.facts->devices.begin(), known.facts->devices.end()};
  }

  int query(const launcher::HostQuery::Question& question, const launcher::HostQuery::Commands& commands) {
    auto result = session_.query(hosts_, question, commands);
    if (result.signal == 0) last_ = std::move(result.hosts);
    return result.signal;
  }

  int find_addresses() {
    std::vector<std::vector<long>> devices(hosts_.size());
    const int signal = query([](int) { return wire::QueryHost{}; },
                             [&](int host, const QueriedHost& known) -> std::optional<wire::RunCommands> {
                               auto& mine = at_index(devices, host);
                               mine = devices_of(static_cast<size_t>(host), known);
                               if (mine.empty()) return std::nullopt;
                               std::vector<Command> commands;
                               for (const long device : mine) commands.push_back(ranktable::address_command(device));
                               commands.push_back({"cat", ranktable::kHccnConf});
                               return run_commands(path_, commands);
                             });
    for (size_t i = 0; i < hosts_.size() && signal == 0; ++i) add_addresses(i, devices[i]);
    return signal;
  }

  void add_addresses(size_t host, const std::vector<long>& devices) {
    NetHost& found = found_[host];
    found.name = hosts_[host].name;
    if (devices.empty()) found.trouble = "missing Ascend devices: set --devices 0-7";
    auto given = answers(last_[host], devices.size() + 1);
    const Answer conf = given.back();
    given.pop_back();
    const auto addresses = ranktable::device_addresses(devices, given, conf.code == 0 ? &conf.printed : nullptr);
    for (const long device : devices) {
      const auto address = addresses.by_device.find(device);
      CheckedDevice& checked = found.devices.emplace_back(CheckedDevice{.device = device});
      if (address != addresses.by_device.end()) {
        checked.address = address->second;
      } else {
        checked.trouble = "missing address: hccn_tool: " + addresses.tool_trouble + "; " + ranktable::kHccnConf + ": " +
                          addresses.conf_trouble;
      }
    }
  }

  void find_peers() {
    for (size_t i = 0; i < found_.size(); ++i) {
      const NetHost& next = found_[(i + 1) % found_.size()];
      found_[i].peer = next.name;
      for (CheckedDevice& device : found_[i].devices) {
        const auto peer = std::ranges::find(next.devices, device.device, &CheckedDevice::device);
        device.peer = device.device;
        if (peer != next.devices.end()) device.peer_address = peer->address;
        if (device.peer_address.empty() && device.trouble.empty()) device.trouble = "the peer device has no address";
      }
    }
  }

  /// Runs `command` for each device without an error so far; `take` receives the answers.
  template <class ToCommand, class Take>
  int ask_devices(ToCommand command, Take take) {
    const int signal = query([](int) { return std::nullopt; },
                             [&](int host, const QueriedHost&) -> std::optional<wire::RunCommands> {
                               std::vector<Command> commands;
                               for (const CheckedDevice& device : at_index(found_, host).devices) {
                                 if (is_open(device)) commands.push_back(command(device));
                               }
                               if (commands.empty()) return std::nullopt;
                               return run_commands(path_, commands);
                             });
    if (signal != 0) return signal;
    for (size_t i = 0; i < found_.size(); ++i) {
      std::vector<CheckedDevice*> open;
      for (CheckedDevice& device : found_[i].devices) {
        if (is_open(device)) open.push_back(&device);
      }
      const auto given = answers(last_[i], open.size());
      for (size_t j = 0; j < open.size(); ++j) take(*open[j], given[j]);
    }
    return 0;
  }

  static bool is_open(const CheckedDevice& device) {
    return device.trouble.empty() && device.status != report::kNetSuccess;
  }

  int set_peers() {
    return ask_devices(
        [](const CheckedDevice& device) { return ranktable::netdetect_command(device.device, device.peer_address); },
        [](CheckedDevice& device, const Answer& answer) {
          if (answer.code == 0) return;
          device.trouble = "cannot detect the peer: hccn_tool " + trouble_of(answer, "");
        });
  }

  int ask_health() {
    return ask_devices([](const CheckedDevice& device) { return ranktable::net_health_command(device.device); },
                       [](CheckedDevice& device, const Answer& answer) {
                         device.status = ranktable::parse_net_health(answer.printed).value_or("");
                         if (device.status.empty()) {
                           device.trouble =
                               "unknown net health: hccn_tool " + trouble_of(answer, "does not print the net health");
                         }
                       });
  }

  bool any_fault() const {
    return std::ranges::any_of(found_, [](const NetHost& host) { return std::ranges::any_of(host.devices, is_open); });
  }

  const std::vector<plan::Host>& hosts_;
  const std::string path_;
  session::HostSession& session_;
  std::vector<NetHost> found_;
  std::vector<QueriedHost> last_;  // of the last round
  Duration elapsed_{};
};

}  // namespace

Result<int> check_ascend(const cli::Options& options, const plan::Allocation& allocation,
                         session::HostSession& session) {
  Check check(options, allocation, session);
  if (const int signal = check.run()) return fail(session::interrupted_error(signal));
  const report::NetCheck found = check.take();
  const int code = report::exit_code(found);
  if (options.format == cli::Format::json) return session.streams().print(report::to_json(found), code);
  const auto printed = session.streams().print(report::to_table(found), code);
  session.log().error(report::findings_text(found));
  return printed;
}

}  // namespace dlaunch::ascend
