// Rank tables of Ascend devices, as text: check, make, merge. Pure. docs/ranktable.md is the user's side of it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"

namespace dlaunch::ranktable {

/// 1.0 is for Ascend 910 and A2, 1.2 for A3 with super pods, 2.0 for 950.
enum class Version { v1_0, v1_2, v2_0 };

std::string_view to_string(Version version);
std::optional<Version> parse_version(std::string_view text);

enum class Product { ascend910, a2, a3, ascend950 };

std::string_view to_string(Product product);
/// "910", "a2", "a3", "950".
std::optional<Product> parse_product(std::string_view text);
/// The product that a version's documents describe: for 1.0 the 910, though A2 uses it too, with fewer rules.
Product usual_product(Version version);

/// A broken rule, or a remark, at one place of a table.
struct TableFinding {
  std::string path = {};  ///< "$.server_list[1].device[3].rank_id"; empty for the file as a whole
  int line = 0;           ///< 0: it has no place in the text
  int column = 0;
  std::string what = {};
  bool note = false;  ///< a remark: no rule is broken
};

bool any_broken(const std::vector<TableFinding>& findings);

struct CheckedTable {
  std::optional<Version> version = {};  ///< none: not even that could be read
  size_t servers = 0;
  size_t ranks = 0;
  std::vector<TableFinding> findings = {};  ///< in the order of the text; the table is good when none is broken
  std::optional<Error> no_json = {};        ///< why the text is no JSON; then `findings` concern only the file's name
};

/// Checks the whole text of a file. `path` is the file's: HCCL heeds its name. Without a product the version's usual
/// one is taken. Linear but for sorting.
CheckedTable check_rank_table(std::string_view text, const std::string& path, std::optional<Product> product);

/// What a table says of one host, as read there or given by the user.
struct HostFacts {
  std::string server_id = {};      ///< an address of the host that other hosts reach; HCCL accepts a name, too
  std::string host_ip = {};        ///< empty: not said
  std::vector<long> devices = {};  ///< physical ids in the order of their ranks
  std::map<long, std::string> device_ips = {};  ///< by physical id; entries of other devices do no harm
  std::string super_pod_id = {};                ///< 1.2; empty: no super pod
  std::map<long, long> super_device_ids = {};   ///< 1.2; by physical id
  std::string root_info = {};                   ///< 2.0: the text of the host's /etc/hccl_rootinfo.json
};

/// Makes a table: hosts in the order of server_id, ranks in the order of their devices. An Error names the first rule
/// that the table would break.
Result<std::string> make_rank_table(Version version, Product product, std::vector<HostFacts> hosts);

struct NamedText {
  std::string name = {};  ///< the file's, for errors
  std::string text = {};
};

struct MergedTable {
  std::string text = {};
  size_t servers = 0;
  size_t ranks = 0;
};

/// Joins tables of different servers: servers in the order of server_id, ranks numbered anew, all other members of
/// servers and devices (pod_ip, ports, …) kept. Refuses tables of different versions, a server that is in two of them,
/// a malformed table, and any result that would break a rule. Without a product the version's usual one is taken.
Result<MergedTable> merge_rank_tables(const std::vector<NamedText>& tables, std::optional<Product> product);

/// "hccl_8p_01234567_10.0.0.1.json", hccl_tools.py's name for one server. `numbers` are those of --device_num.
std::string file_name(const std::vector<long>& numbers, const std::string& server_id);

/// "hccl_2s_16p.json", as merge_hccl.py names the table of several.
std::string file_name(size_t servers, size_t ranks);

}  // namespace dlaunch::ranktable
