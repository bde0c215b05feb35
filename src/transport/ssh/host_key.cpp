#include "transport/ssh/host_key.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/digest.h"
#include "base/text.h"
#include "sys/fd.h"
#include "sys/randomness.h"
#include "transport/ssh/encoding.h"

namespace dlaunch::transport::ssh {
namespace {

using std::string;
using Kind = KeyVerdict::Kind;

constexpr const char* kWhat = "host key verification failed";

struct ServerKey {
  string type;
  string base64;
  string fingerprint;
  string blob;
  string sha256;
};

ServerKey server_key(const SshConnection& connection) {
  const Library& lib = connection.lib;
  ServerKey found;
  ssh_key key = nullptr;
  if (lib.ssh_get_server_publickey(connection.session, &key) != SSH_OK) return found;
  char* text = nullptr;
  if (lib.ssh_pki_export_pubkey_base64(key, &text) == SSH_OK) found.base64 = text;
  lib.ssh_string_free_char(text);
  unsigned char* hash = nullptr;
  size_t size = 0;
  if (lib.ssh_get_publickey_hash(key, SSH_PUBLICKEY_HASH_SHA256, &hash, &size) == 0) {
    found.sha256.assign(reinterpret_cast<const char*>(hash), size);
    text = lib.ssh_get_fingerprint_hash(SSH_PUBLICKEY_HASH_SHA256, hash, size);
    found.fingerprint = text ? text : "";
    lib.ssh_string_free_char(text);
    lib.ssh_clean_pubkey_hash(&hash);
  }
  lib.ssh_key_free(key);
  found.blob = from_base64(found.base64).value_or("");
  std::string_view rest = found.blob;
  found.type = unpack(rest).value_or("");
  return found;
}

string place(const KnownKey& line) { return line.file + ":" + std::to_string(line.line); }

Disconnect refused(const Route& route, const KeyVerdict& verdict, const ServerKey& key) {
  const string shown = key.type + " key " + key.fingerprint;
  const string remove = "ssh-keygen -f " + shell_quote(verdict.line.file) + " -R " + shell_quote(route.known.name.name);
  switch (verdict.kind) {
    case Kind::revoked:
      return {kWhat, "the host's " + shown + " is revoked by " + place(verdict.line),
              "use another host: a revoked key may be stolen"};
    case Kind::changed:
      return {kWhat, "the host's " + shown + " differs from " + place(verdict.line),
              "check for an attack; if the host was reinstalled, run " + remove};
    case Kind::authority_only:
      return {kWhat, "not supported: host certificates (a @cert-authority line names the host)",
              "add the host's key to known_hosts, or use --exec 'ssh -T {host}'"};
    default:
      return {kWhat, "the host's " + shown + " is not in known_hosts",
              "check the key on the host, then run once with --host-key accept-new"};
  }
}

/// Refuses a revoked key even if the key is known or --host-key is off.
std::optional<Disconnect> check_revoked(const Route& route, const ServerKey& key) {
  if (!route.revoked) return std::nullopt;
  if (const string& trouble = route.revoked->trouble(); !trouble.empty()) {
    return Disconnect{kWhat, "the host's key may be revoked: " + route.revoked_file + ": " + trouble,
                      "check RevokedHostKeys: ssh also refuses all hosts"};
  }
  if (!route.revoked->has(key.blob, key.sha256)) return std::nullopt;
  return Disconnect{kWhat,
                    "the host's " + key.type + " key " + key.fingerprint + " is revoked by " + route.revoked_file,
                    "use another host: a revoked key may be stolen"};
}

bool ends_in_a_line(const sys::Fd& file) {
  const off_t size = ::lseek(file.get(), 0, SEEK_END);
  char last = '\n';
  return size <= 0 || ::pread(file.get(), &last, 1, size - 1) != 1 || last == '\n';
}

/// Writes the line with a single write(), so that lines of several hosts do not mix.
bool add_known_host(const Route& route, const ServerKey& key) {
  const string& path = route.known_hosts_file;
  if (path.empty()) return true;  // UserKnownHostsFile none
  if (const size_t slash = path.rfind('/'); slash != string::npos) ::mkdir(path.substr(0, slash).c_str(), 0700);
  const sys::Fd file(::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
  if (!file) return false;
  const string salt = sys::random_bytes(route.hash_known_hosts ? HmacSha1::Digest{}.size() : 0);
  string line = known_hosts_line(route.known.name, key.type, key.base64, salt);
  if (!ends_in_a_line(file)) line.insert(0, "\n");
  return ::write(file.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

}  // namespace

std::optional<Disconnect> check_host_key(const SshConnection& connection) {
  const Route& route = connection.route;
  const ServerKey key = server_key(connection);
  if (key.base64.empty()) return Disconnect{kWhat, "libssh cannot read the host's key", ""};
  if (auto end = check_revoked(route, key)) return end;
  const KeyVerdict verdict = verdict_on(route.known, key.type, key.base64);
  if (verdict.kind == Kind::known) return std::nullopt;
  if (verdict.kind != Kind::revoked && route.host_key == plan::HostKey::off) return std::nullopt;
  if (verdict.kind != Kind::unknown || route.host_key != plan::HostKey::accept_new) return refused(route, verdict, key);
  if (add_known_host(route, key)) return std::nullopt;
  return Disconnect{kWhat, "cannot write the host's key to " + route.known_hosts_file + ": " + std::strerror(errno),
                    ""};
}

}  // namespace dlaunch::transport::ssh
