// Rank tables of Ascend devices, as text: check, make, merge. Pure. docs/ranktable.md is the user's side of it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"

namespace dlaunch::ranktable {

/// 1.0 is of Ascend 910 and A2; 1.2 of A3, with super pods; 2.0 of 950.
enum class Version { v1_0, v1_2, v2_0 };

std::string_view to_string(Version version);
std::optional<Version> parse_version(std::string_view text);

enum class Product { ascend910, a2, a3, ascend950 };

std::string_view to_string(Product product);
/// "910", "a2", "a3", "950".
std::optional<Product> parse_product(std::string_view text);
/// 1.0 is also A2's version, with fewer rules; the documents' is the 910.
Product usual_product(Version version);

/// What is wrong, or worth knowing, at one place of a table.
struct TableFinding {
  std::string path = {};  ///< "$.server_list[1].device[3].rank_id"; empty for the file as a whole
  int line = 0;           ///< 0: nowhere in the text
  int column = 0;
  std::string what = {};
  bool note = false;  ///< no rule is broken
};

bool any_broken(const std::vector<TableFinding>& findings);

struct CheckedTable {
  std::optional<Version> version = {};  ///< none: not even that is known
  size_t servers = 0;
  size_t ranks = 0;
  std::vector<TableFinding> findings = {};  ///< in the order of the text; none broken: the table is good
  std::optional<Error> no_json = {};        ///< then `findings` are of the file's name alone
};

/// All of a file's text. `path` is the file's: HCCL heeds its name. No product: the version's usual one. Linear but for
/// sorting.
CheckedTable check_rank_table(std::string_view text, const std::string& path, std::optional<Product> product);

/// What a table says of one host; what is read there, or given by the user.
struct HostFacts {
  std::string server_id = {};      ///< an address of the host that the other hosts reach; a name will do for HCCL
  std::string host_ip = {};        ///< empty: not said
  std::vector<long> devices = {};  ///< physical ids in the order of their ranks
  std::map<long, std::string> device_ips = {};  ///< by physical id; more than `devices` do no harm
  std::string super_pod_id = {};                ///< 1.2; empty: no super pod
  std::map<long, long> super_device_ids = {};   ///< 1.2; by physical id
  std::string root_info = {};                   ///< 2.0: the text of the host's /etc/hccl_rootinfo.json
};

/// The hosts in the order of server_id, ranks in the order of their devices. An Error names the first rule that the
/// table would break.
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

/// Tables of different servers as one: servers in the order of server_id, ranks numbered anew; what else the servers
/// and devices say (pod_ip, ports, …) is kept. Refuses tables of different versions, a server that is in two of them, a
/// malformed one, and whatever would break a rule. No product: the version's usual one.
Result<MergedTable> merge_rank_tables(const std::vector<NamedText>& tables, std::optional<Product> product);

/// "hccl_8p_01234567_10.0.0.1.json": hccl_tools.py's name for one server. `numbers` are those of --device_num.
std::string file_name(const std::vector<long>& numbers, const std::string& server_id);

/// "hccl_2s_16p.json": merge_hccl.py's name for several.
std::string file_name(size_t servers, size_t ranks);

}  // namespace dlaunch::ranktable
