#include "report/preflight.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "base/ip_address.h"
#include "base/printable.h"
#include "base/shared_texts.h"
#include "base/text.h"
#include "dlaunch/error.h"
#include "plan/table.h"
#include "report/lines.h"
#include "report/summary.h"

namespace dlaunch::report {
namespace {

constexpr size_t kLongTable = 16;  // rows
constexpr int kFatalFinding = 1;

using Row = std::vector<std::string>;

std::string size_text(std::int64_t bytes) {
  constexpr double kKibi = 1024;
  double size = static_cast<double>(bytes);
  const char* unit = "B";
  for (const char* const next : {"KiB", "MiB", "GiB", "TiB"}) {
    if (size < kKibi) break;
    size /= kKibi;
    unit = next;
  }
  return formatted(size < 10 ? "%.1f " : "%.0f ", size) + unit;
}

std::string devices_text(const CheckedHost& host) {
  if (host.devices.empty()) return "none";
  return host.device_kind + " " + fold_ints({host.devices.begin(), host.devices.end()});
}

bool clock_is_wrong(const CheckedHost& host) {
  return std::abs(host.clock_offset) - host.clock_error > kClockTolerance;
}

/// An offset within the measurement error is shown as "right", so that hosts with correct clocks have equal rows.
std::string clock_text(const CheckedHost& host) {
  const std::string text = formatted("%+.1f s", host.clock_offset);
  return std::abs(host.clock_offset) <= host.clock_error || text.ends_with("0.0 s") ? "right" : text;
}

std::string things_text(const std::vector<CheckedThing>& things, bool places) {
  std::set<std::string> texts;
  for (const CheckedThing& thing : things) {
    texts.insert(!thing.trouble.empty() ? "no" : places ? thing.found : std::string("yes"));
  }
  if (texts.contains("no")) return "no";
  std::string text;
  for (const std::string& each : texts) text += (text.empty() ? "" : ", ") + each;
  return text.empty() ? "-" : text;
}

std::string names_text(const CheckedHost& host) {
  const auto known = std::ranges::count_if(host.addresses, [](const std::string& each) { return !each.empty(); });
  const size_t all = host.addresses.size();
  return static_cast<size_t>(known) == all ? "all" : std::to_string(known) + " of " + std::to_string(all);
}

/// Columns of only some jobs.
struct Columns {
  bool programs = false;
  bool scripts = false;
};

Columns columns_of(const Preflight& preflight) {
  Columns columns;
  for (const CheckedHost& host : preflight.hosts) {
    columns.programs |= !host.programs.empty();
    columns.scripts |= !host.scripts.empty();
  }
  return columns;
}

Row head_of(Columns columns) {
  Row head = {"host", "agent", "cpus", "devices", "directory"};
  if (columns.programs) head.emplace_back("program");
  if (columns.scripts) head.emplace_back("script");
  head.insert(head.end(), {"clock", "/dev/shm free", "open files", "names"});
  return head;
}

/// All cells except the host's name.
Row row_of(const CheckedHost& host, Columns columns) {
  if (!host.lost.empty()) {
    Row row(head_of(columns).size() - 1, "-");
    row.front() = "not reached";
    return row;
  }
  Row row = {host.agent_version, std::to_string(host.cpus), devices_text(host), things_text(host.directories, false)};
  if (columns.programs) row.push_back(things_text(host.programs, true));
  if (columns.scripts) row.push_back(things_text(host.scripts, false));
  row.push_back(clock_text(host));
  row.push_back(host.shm_free ? size_text(*host.shm_free) : "none");
  row.push_back(host.open_files ? std::to_string(*host.open_files) : "no limit");
  row.push_back(names_text(host));
  for (std::string& cell : row) cell = printable(cell);
  return row;
}

/// Merges equal rows; the order is that of the first host of each row.
std::vector<Row> folded(const std::vector<Row>& rows) {
  std::map<Row, std::vector<std::string>> names;
  std::vector<Row> order;
  for (const Row& row : rows) {
    Row rest(row.begin() + 1, row.end());
    auto& sharing = names[rest];
    if (sharing.empty()) order.push_back(rest);
    sharing.push_back(row.front());
  }
  for (Row& row : order) row.insert(row.begin(), fold_names(names.at(row)));
  return order;
}

bool only_loopback(const std::string& addresses) {
  return !addresses.empty() && std::ranges::all_of(split(addresses, ' '), is_loopback);
}

/// Collects findings. Equal findings of several hosts become one.
class Gatherer {
 public:
  void add(const std::string& host, const std::string& what, const std::string& hint, bool fatal = true) {
    const auto [at, fresh] = places_.try_emplace({what, hint}, found_.size());
    if (fresh) found_.push_back({{}, what, hint, fatal});
    found_[at->second].hosts.push_back(host);
  }
  void add(Finding finding) { found_.push_back(std::move(finding)); }
  std::vector<Finding> take() { return std::move(found_); }

 private:
  std::map<std::pair<std::string, std::string>, size_t> places_;
  std::vector<Finding> found_;
};

void check_things(const CheckedHost& host, Gatherer& found) {
  for (const CheckedThing& directory : host.directories) {
    if (directory.trouble.empty()) continue;
    found.add(host.name, std::string(kCannotEnterWorkingDirectory) + directory.name + ": " + directory.trouble,
              "create the directory on the host, share it, or set another with --wdir");
  }
  for (const CheckedThing& program : host.programs) {
    if (!program.trouble.empty())
      found.add(host.name, program.trouble, "install the program on the host, or give its path there");
  }
  for (const CheckedThing& script : host.scripts) {
    if (script.trouble.empty()) continue;
    const std::string usual = "put the script on the host, share its directory, or set another with --wdir";
    found.add(host.name, script.trouble, script.hint.empty() ? usual : script.hint);
  }
}

void check_clock(const CheckedHost& host, Gatherer& found) {
  if (!clock_is_wrong(host)) return;
  found.add(host.name, "the clock differs from the launcher's clock by " + formatted("%+.1f", host.clock_offset) + " s",
            "run NTP on the host: the times in logs and the order of failures depend on the clock");
}

void check_names(const CheckedHost& host, size_t own, const Preflight& preflight, Gatherer& found) {
  std::vector<std::string> unknown, loopback_names;
  for (size_t i = 0; i < host.addresses.size(); ++i) {
    if (host.addresses[i].empty()) unknown.push_back(preflight.hosts[i].name);
    if (i != own && only_loopback(host.addresses[i])) loopback_names.push_back(preflight.hosts[i].name);
  }
  if (!unknown.empty()) {
    found.add(
        host.name, "cannot resolve " + fold_names(unknown) + (host.unresolved.empty() ? "" : ": " + host.unresolved),
        host.unresolved.empty() ? "add the name to /etc/hosts there, or to DNS: ranks connect to each other by name"
                                : "check getent and the name servers (/etc/resolv.conf) of the host");
  }
  if (!loopback_names.empty()) {
    found.add(host.name, "resolves " + fold_names(loopback_names) + " to a loopback address",
              "use a name of the host that all other hosts can connect to");
  }
  if (own < host.addresses.size() && only_loopback(host.addresses[own]) && preflight.hosts.size() > 1) {
    found.add(
        host.name, "resolves its own name to a loopback address, which other hosts cannot reach",
        "set the host's address in /etc/hosts there, or set NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME to an interface",
        false);
  }
}

void find_duplicates(const Preflight& preflight, Gatherer& found) {
  std::map<std::string, std::vector<std::string>> names;
  for (const CheckedHost& host : preflight.hosts) {
    if (!host.identity.empty()) names[host.identity].push_back(host.name);
  }
  for (auto& [identity, of_one] : names) {
    if (of_one.size() > 1)
      found.add({std::move(of_one), "names of the same host; each name would get ranks", "", false});
  }
}

using Json = nlohmann::ordered_json;

Json things_json(const std::vector<CheckedThing>& things) {
  Json list = Json::array();
  for (const CheckedThing& thing : things) {
    Json json = {{"name", thing.name}, {"found", thing.trouble.empty() ? Json(thing.found) : Json(nullptr)}};
    if (!thing.trouble.empty()) json["why_not"] = thing.trouble;
    list.push_back(std::move(json));
  }
  return list;
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json names_json(const CheckedHost& host, const Preflight& preflight) {
  Json json = Json::object();
  for (size_t i = 0; i < host.addresses.size() && i < preflight.hosts.size(); ++i) {
    json[preflight.hosts[i].name] = host.addresses[i].empty() ? Json(nullptr) : Json(host.addresses[i]);
  }
  return json;
}

Json host_json(const CheckedHost& host, const Preflight& preflight) {
  if (!host.lost.empty()) return {{"name", host.name}, {"reached", false}, {"why", host.lost}, {"hint", host.hint}};
  return {{"name", host.name},
          {"reached", true},
          {"kernel_name", host.kernel_name},
          {"agent_version", host.agent_version},
          {"cpus", host.cpus},
          {"cpus_from", host.cpus_from},
          {"device_kind", host.device_kind},
          {"devices", host.devices},
          {"directories", things_json(host.directories)},
          {"programs", things_json(host.programs)},
          {"scripts", things_json(host.scripts)},
          {"clock_offset_s", host.clock_offset},
          {"clock_error_s", host.clock_error},
          {"shm_free_bytes", or_null(host.shm_free)},
          {"open_files", or_null(host.open_files)},
          {"addresses_of", names_json(host, preflight)},
          {"why_not_resolved", host.unresolved}};
}

}  // namespace

std::vector<Finding> findings(const Preflight& preflight) {
  Gatherer found;
  find_duplicates(preflight, found);
  for (size_t i = 0; i < preflight.hosts.size(); ++i) {
    const CheckedHost& host = preflight.hosts[i];
    if (!host.lost.empty()) continue;
    check_names(host, i, preflight, found);
    check_clock(host, found);
    check_things(host, found);
  }
  auto all = found.take();
  std::ranges::stable_sort(all, {}, &Finding::fatal);
  return all;
}

int exit_code(const Preflight& preflight) {
  if (std::ranges::any_of(preflight.hosts, [](const CheckedHost& host) { return !host.lost.empty(); })) {
    return kExitHostLost;
  }
  return std::ranges::any_of(findings(preflight), &Finding::fatal) ? kFatalFinding : 0;
}

std::string to_table(const Preflight& preflight) {
  const Columns columns = columns_of(preflight);
  std::vector<Row> rows;
  for (const CheckedHost& host : preflight.hosts) {
    rows.push_back(row_of(host, columns));
    rows.back().insert(rows.back().begin(), printable(host.name));
  }
  if (rows.size() > kLongTable) rows = folded(rows);
  rows.insert(rows.begin(), head_of(columns));
  return plan::aligned(rows, "");
}

std::string findings_text(const Preflight& preflight) {
  Lines lines;
  for (const Finding& finding : findings(preflight)) {
    lines.add((finding.fatal ? "" : "note: ") + fold_names(finding.hosts) + ": " + finding.what);
    lines.add_hint(finding.hint);
  }
  std::vector<job::LostHost> lost;
  for (const CheckedHost& host : preflight.hosts) {
    if (!host.lost.empty()) lost.push_back({host.name, host.lost, host.hint});
  }
  if (!lost.empty()) lines.add_complete(lost_hosts_text(lost, false, preflight.elapsed));
  return lines.take();
}

std::string to_json(const Preflight& preflight) {
  Json hosts = Json::array();
  for (const CheckedHost& host : preflight.hosts) hosts.push_back(host_json(host, preflight));
  Json found = Json::array();
  for (const Finding& finding : findings(preflight)) {
    found.push_back(
        {{"hosts", finding.hosts}, {"fatal", finding.fatal}, {"what", finding.what}, {"hint", finding.hint}});
  }
  const Json whole = {{"ok", exit_code(preflight) == 0}, {"hosts", std::move(hosts)}, {"findings", std::move(found)}};
  return printable_json(whole.dump(2, ' ', false, Json::error_handler_t::replace)) + '\n';
}

namespace {

using Json = nlohmann::ordered_json;

constexpr int kFault = 1;

bool is_well(const CheckedDevice& device) { return device.status == kNetSuccess; }

bool is_well(const NetHost& host) {
  return host.trouble.empty() &&
         std::ranges::all_of(host.devices, [](const CheckedDevice& device) { return is_well(device); });
}

std::string cell(const NetHost& host, long number) {
  const auto device = std::ranges::find(host.devices, number, &CheckedDevice::device);
  if (device == host.devices.end()) return "-";
  return device->status.empty() ? "unknown" : escaped(device->status);
}

std::set<int> device_numbers(const NetCheck& check) {
  std::set<int> numbers;
  for (const NetHost& host : check.hosts) {
    for (const CheckedDevice& device : host.devices) numbers.insert(static_cast<int>(device.device));
  }
  return numbers;
}

/// Describes the device's failure. Devices with the same text share a line.
std::string wrong(const NetHost& host, const CheckedDevice& device) {
  if (!device.trouble.empty()) return device.trouble;
  if (host.peer.empty()) return "net health: " + device.status;
  return "cannot connect to the devices of " + host.peer + ": " + device.status;
}

Json device_json(const NetHost& host, const CheckedDevice& device) {
  Json json = {{"host", host.name}, {"device", device.device}, {"address", device.address}};
  if (!host.peer.empty()) {
    json["peer_host"] = host.peer;
    json["peer_device"] = device.peer;
    json["peer_address"] = device.peer_address;
  }
  json["status"] = device.status.empty() ? Json(nullptr) : Json(device.status);
  if (!device.trouble.empty()) json["why_not"] = device.trouble;
  return json;
}

}  // namespace

int exit_code(const NetCheck& check) {
  if (!check.lost.empty()) return kExitHostLost;
  return std::ranges::all_of(check.hosts, [](const NetHost& host) { return is_well(host); }) ? 0 : kFault;
}

std::string to_table(const NetCheck& check) {
  const std::set<int> numbers = device_numbers(check);
  std::vector<std::vector<std::string>> rows = {{"host", "peer"}};
  for (const int number : numbers) rows.front().push_back("device " + std::to_string(number));
  for (const NetHost& host : check.hosts) {
    auto& row = rows.emplace_back(std::vector{escaped(host.name), host.peer.empty() ? "-" : escaped(host.peer)});
    for (const int number : numbers) row.push_back(cell(host, number));
  }
  return plan::aligned(rows, "");
}

std::string findings_text(const NetCheck& check) {
  Lines lines;
  bool fault = false;
  for (const NetHost& host : check.hosts) {
    if (!host.trouble.empty()) lines.add(host.name + ": " + host.trouble);
    std::map<std::string, std::set<int>> devices;
    for (const CheckedDevice& device : host.devices) {
      if (!is_well(device)) devices[wrong(host, device)].insert(static_cast<int>(device.device));
      fault = fault || (device.trouble.empty() && !is_well(device));
    }
    for (const auto& [what, numbers] : devices) {
      lines.add(host.name + (numbers.size() == 1 ? ": device " : ": devices ") + fold_ints(numbers) + ": " + what);
    }
  }
  if (fault)
    lines.add_hint("check the devices' links, addresses and switch: hccn_tool -i N -link -g, -ip -g, -gateway -g");
  if (!check.lost.empty()) lines.add_complete(lost_hosts_text(check.lost, false, check.elapsed));
  return lines.take();
}

std::string to_json(const NetCheck& check) {
  Json devices = Json::array(), hosts = Json::array(), lost = Json::array();
  for (const NetHost& host : check.hosts) {
    for (const CheckedDevice& device : host.devices) devices.push_back(device_json(host, device));
    if (!host.trouble.empty()) hosts.push_back({{"host", host.name}, {"why_not", host.trouble}});
  }
  for (const job::LostHost& host : check.lost)
    lost.push_back({{"host", host.name}, {"why", host.why}, {"hint", host.hint}});
  const Json whole = {{"ok", exit_code(check) == 0},
                      {"devices", std::move(devices)},
                      {"not_asked", std::move(hosts)},
                      {"not_reached", std::move(lost)}};
  return printable_json(whole.dump(2, ' ', false, Json::error_handler_t::replace)) + '\n';
}

}  // namespace dlaunch::report
