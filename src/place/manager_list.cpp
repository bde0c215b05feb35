#include "place/manager_list.h"

#include <algorithm>
#include <cctype>
#include <system_error>

#include "base/environment.h"
#include "base/most_nodes.h"
#include "base/text.h"
#include "base/try.h"
#include "hosts/host_name.h"

namespace dlaunch::place {

tl::unexpected<Error> wrong_list(std::string_view where, std::string what, std::string why) {
  return fail({.where = std::string(where),
               .what = std::move(what),
               .why = std::move(why),
               .hint = "set the hosts with -H or --hostfile, or add --ignore-resource-manager"});
}

std::optional<Error> unlisted_job(const Environment& environment, const JobSign& sign) {
  const auto is_set = [&](std::string_view name) {
    return !name.empty() && filled_variable(environment, name).has_value();
  };
  const std::string_view number = is_set(sign.number) ? sign.number : sign.other_number;
  if (!is_set(number)) return std::nullopt;
  const bool enough = sign.proofs.front().empty();
  const auto* const proof = std::ranges::find_if(sign.proofs, is_set);
  if (!enough && proof == sign.proofs.end()) return std::nullopt;
  const std::string signs = enough ? " shows" : " and " + std::string(*proof) + " show";
  return wrong_list(sign.list, "not set",
                    std::string(number) + signs + " a job of " + std::string(sign.manager) + " but no host list")
      .value();
}

std::optional<std::int64_t> whole_number(std::string_view text) { return parse_int(text, 0, INT64_MAX); }

Attempt counted_attempt(const Environment& environment, std::string_view name) {
  constexpr std::int64_t kMost = 1000000;
  const auto text = variable(environment, name);
  return Attempt{static_cast<int>(std::min(kMost, whole_number(text.value_or("")).value_or(0)))};
}

Attempt uncounted_attempt(bool ran_before) { return {ran_before ? 1 : 0, !ran_before}; }

bool lists_devices(const Environment& environment) {
  return std::ranges::any_of(std::array{"CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"},
                             [&](const char* name) { return filled_variable(environment, name).has_value(); });
}

std::vector<std::string> blank_separated(std::string_view text) {
  std::vector<std::string> list;
  std::string word;
  for (const char c : std::string(text) + ' ') {
    if (std::isspace(static_cast<unsigned char>(c)) == 0) {
      word += c;
    } else if (!word.empty()) {
      list.push_back(std::move(word));
      word.clear();
    }
  }
  return list;
}

std::vector<ListedHost> one_slot_each(const std::vector<std::string>& names) {
  std::vector<ListedHost> hosts;
  hosts.reserve(names.size());
  for (const std::string& name : names) hosts.push_back({name});
  return hosts;
}

Result<Entries> listed_entries(const std::vector<ListedHost>& hosts, const std::string& from) {
  if (hosts.empty()) return wrong_list(from, "missing hosts");
  if (hosts.size() > hosts::kMostSlots) return wrong_list(from, "too many hosts");
  Entries entries(hosts.size());
  for (size_t i = 0; i < hosts.size(); ++i) {
    if (auto ok = hosts::check_host_name(hosts[i].name); !ok) {
      return wrong_list(from, "invalid list", ok.error().what);
    }
    entries[i].name = hosts[i].name;
    entries[i].slots = hosts[i].slots;
    entries[i].from = from;
  }
  return entries;
}

Result<std::string> read_named_file(const std::string& variable, const std::vector<std::string>& environment,
                                    const hosts::ReadText& read_file) {
  const std::string path = filled_variable(environment, variable).value_or("");
  auto text = read_file(path);
  if (!text) return wrong_list(variable, "cannot read " + path, text.error().why);
  return text;
}

Result<Entries> read_node_file(const std::string& variable, const Environment& environment,
                               const hosts::ReadText& read_file) {
  const std::string text = TRY(read_named_file(variable, environment, read_file));
  std::vector<ListedHost> hosts;
  for (const std::string& word : blank_separated(text)) {
    const size_t colon = word.find(':');
    const auto slots =
        colon == word.npos ? 1 : parse_int(std::string_view(word).substr(colon + 1), 0, hosts::kMostSlots);
    if (!slots) return wrong_list(variable, "invalid entry \"" + word + '"');
    hosts.push_back({word.substr(0, colon), static_cast<int>(*slots)});
  }
  Entries entries = TRY(listed_entries(hosts, variable));
  for (size_t i = 0; i < entries.size(); ++i) entries[i].reach.step = "-n " + std::to_string(i);  // pbsdsh's number
  return entries;
}

tl::unexpected<Error> unknown_node(std::string_view name, const std::string& value, std::string why) {
  return fail({.where = std::string(name) + '=' + value,
               .what = "cannot find the number of this node",
               .why = std::move(why),
               .hint = "set --nodes, --node-rank and --rendezvous"});
}

Result<std::optional<int>> node_number(const Environment& environment, std::string_view name) {
  const auto text = filled_variable(environment, name);
  if (!text) return std::nullopt;
  const auto number = parse_int(trim(*text), 0, kMostNodes);
  if (!number) return unknown_node(name, *text, "expected a number from 0 to " + std::to_string(kMostNodes));
  return static_cast<int>(*number);
}

}  // namespace dlaunch::place
