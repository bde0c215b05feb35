// Rank tables of Ascend devices, as text: check, make, merge. Pure. docs/rank-tables.md is the page for users.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"

namespace dlaunch::ranktable {

/// The versions: 1.0 (Ascend 910 and A2), 1.2 (A3 with super pods), 2.0 (Ascend 950).
enum class Version { v1_0, v1_2, v2_0 };

std::string_view to_string(Version version);
std::optional<Version> parse_version(std::string_view text);

enum class Product { ascend910, a2, a3, ascend950 };

std::string_view to_string(Product product);
/// "910", "a2", "a3", "950".
std::optional<Product> parse_product(std::string_view text);
/// The usual product of a version; for 1.0, the 910. Tables of the A2 also have version 1.0, but fewer rules.
Product usual_product(Version version);

/// A broken rule, or a remark, at one position of a table.
struct TableFinding {
  std::string path = {};  ///< "$.server_list[1].device[3].rank_id"; empty for the file as a whole
  int line = 0;           ///< 0: no position in the text
  int column = 0;
  std::string what = {};
  bool note = false;  ///< true for a remark: the table does not break a rule
};

bool any_broken(const std::vector<TableFinding>& findings);

struct CheckedTable {
  std::optional<Version> version = {};  ///< empty: the version could not be read
  size_t servers = 0;
  size_t ranks = 0;
  std::vector<TableFinding> findings = {};  ///< in the order of the text; the table is valid if no rule is broken
  std::optional<Error> no_json =
      {};  ///< the reason why the text is not JSON; `findings` then has only findings about the file name
};

/// Checks the whole text of a file, and the name in `path`: HCCL requires certain file names. The default product is
/// usual_product(). Takes linear time, except for sorting.
CheckedTable check_rank_table(std::string_view text, const std::string& path, std::optional<Product> product);

/// The facts of one host for a table, read from the host or given by the user.
struct HostFacts {
  std::string server_id = {};                   ///< an address that other hosts can reach; HCCL also accepts a name
  std::string host_ip = {};                     ///< empty: unknown
  std::vector<long> devices = {};               ///< physical ids in the order of their ranks
  std::map<long, std::string> device_ips = {};  ///< by physical id; entries of other devices are ignored
  std::string super_pod_id = {};                ///< 1.2; empty: no super pod
  std::map<long, long> super_device_ids = {};   ///< 1.2; by physical id
  std::string root_info = {};                   ///< 2.0: the text of the host's /etc/hccl_rootinfo.json
};

/// Makes a table: hosts in the order of server_id, ranks in the order of their devices. An Error names the first broken
/// rule.
Result<std::string> make_rank_table(Version version, Product product, std::vector<HostFacts> hosts);

struct NamedText {
  std::string name = {};  ///< name of the file, for errors
  std::string text = {};
};

struct MergedTable {
  std::string text = {};
  size_t servers = 0;
  size_t ranks = 0;
};

/// Joins tables of different servers: servers in the order of server_id, with new rank numbers. Keeps all other members
/// of servers and devices (pod_ip, ports, …). Rejects tables of different versions, a server in two tables, a malformed
/// table, and a result that breaks a rule. The default product is usual_product().
Result<MergedTable> merge_rank_tables(const std::vector<NamedText>& tables, std::optional<Product> product);

/// "hccl_8p_01234567_10.0.0.1.json", as hccl_tools.py names the table of one server. `numbers` are the devices of
/// --device_num.
std::string file_name(const std::vector<long>& numbers, const std::string& server_id);

/// "hccl_2s_16p.json", as merge_hccl.py names the table of several servers.
std::string file_name(size_t servers, size_t ranks);

}  // namespace dlaunch::ranktable
