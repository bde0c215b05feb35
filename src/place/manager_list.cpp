#include "place/manager_list.h"

#include <cctype>

#include "base/environment.h"
#include "hosts/host_name.h"

namespace dlaunch::place {

tl::unexpected<Error> wrong_list(std::string_view where, std::string what, std::string why) {
  return fail({.where = std::string(where),
               .what = std::move(what),
               .why = std::move(why),
               .hint = "set the hosts with -H or --hostfile, or add --ignore-resource-manager"});
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

Result<std::vector<hosts::HostEntry>> listed_entries(const std::vector<ListedHost>& hosts, const std::string& from) {
  if (hosts.empty()) return wrong_list(from, "missing hosts");
  if (hosts.size() > hosts::kMostSlots) return wrong_list(from, "too many hosts");
  std::vector<hosts::HostEntry> entries(hosts.size());
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

}  // namespace dlaunch::place
