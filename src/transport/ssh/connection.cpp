#include "transport/ssh/connection.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/text.h"
#include "sys/fd.h"
#include "sys/randomness.h"
#include "transport/ssh/identity.h"

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
              "use another host: an attacker may have the revoked key"};
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
                      "check this file: ssh also refuses every host until the file is valid"};
  }
  if (!route.revoked->has(key.blob, key.sha256)) return std::nullopt;
  return Disconnect{kWhat,
                    "the host's " + key.type + " key " + key.fingerprint + " is revoked by " + route.revoked_file,
                    "use another host: an attacker may have the revoked key"};
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

using std::string;

constexpr const char* kSshdReason = "Received SSH_MSG_DISCONNECT";

constexpr const char* kByHand =
    "run ssh by hand with ControlMaster and ControlPersist, then use --exec 'ssh -T {host}'";

struct Method {
  unsigned bit;
  const char* name;
};
constexpr Method kMethods[] = {{SSH_AUTH_METHOD_PUBLICKEY, "publickey"},
                               {SSH_AUTH_METHOD_PASSWORD, "password"},
                               {SSH_AUTH_METHOD_INTERACTIVE, "keyboard-interactive"},
                               {SSH_AUTH_METHOD_HOSTBASED, "hostbased"},
                               {SSH_AUTH_METHOD_GSSAPI_MIC, "gssapi-with-mic"}};

void add(string& list, const string& item) { list += (list.empty() ? "" : ", ") + item; }

class Login {
 public:
  explicit Login(const SshConnection& connection)
      : connection_(connection), lib_(connection.lib), session_(connection.session), route_(connection.route) {}

  std::optional<Disconnect> run() {
    if (ended(finish([&] { return lib_.ssh_userauth_none(session_, nullptr); }))) return end_;
    if (!route_.public_keys) return refused("the ssh configuration disables public keys");
    if (!wants(SSH_AUTH_METHOD_PUBLICKEY))
      return needs_other_method("the host does not accept public keys, only " + offered(" or "));
    if (try_agent()) return end_;
    for (const auto& identity : route_.identities) {
      if (try_file(*identity)) return end_;
    }
    for (const string& path : route_.missing_identities) add(skipped_, path + " (not found)");
    return accepted_.empty() ? refused("Permission denied (" + offered(",") + ")") : needs_more();
  }

 private:
  /// Returns true if the login is over: accepted by the host, or the connection is closed.
  bool ended(int answer) {
    if (answer == SSH_AUTH_SUCCESS) return true;
    if (answer != SSH_AUTH_ERROR) return false;
    const string why = lib_.ssh_get_error(session_);
    end_ = refused(why);
    // sshd gave no reason: its process ended, maybe with the host; a new attempt may succeed.
    if (!why.starts_with(kSshdReason)) end_->retry = Disconnect::Retry::soon;
    return true;
  }

  /// True if the host's last list of methods contains this method.
  bool wants(unsigned method) const {
    return (static_cast<unsigned>(lib_.ssh_userauth_list(session_, nullptr)) & method) != 0;
  }

  string offered(const char* between) const {
    string list;
    for (const Method& method : kMethods) {
      if (wants(method.bit)) list += (list.empty() ? "" : between) + string(method.name);
    }
    return list.empty() ? "unknown methods" : list;
  }

  /// The host accepted the key and requires more (AuthenticationMethods). Returns true if further keys would not help.
  bool partly(const string& key) {
    add(accepted_, key);
    if (wants(SSH_AUTH_METHOD_PUBLICKEY)) return false;
    end_ = needs_more();
    return true;
  }

  Disconnect needs_more() const {
    return needs_other_method(accepted_ + " was accepted; the host also requires " + offered(" or "));
  }

  Disconnect needs_other_method(const string& why) const { return {"cannot log in as " + route_.user, why, kByHand}; }

  int finish(const std::function<int()>& call) const { return connection_.finish(SSH_AUTH_AGAIN, call); }

  bool is_identity(const AgentKey& key) const {
    return std::ranges::any_of(route_.identities, [&](const auto& one) { return one->public_blob == key.blob; }) ||
           std::ranges::any_of(route_.certificates, [&](const auto& one) { return one->blob == key.blob; });
  }

  /// The agent's keys: first the keys named by the user, then all others unless IdentitiesOnly is set.
  std::vector<AgentKey> agent_keys() const {
    std::vector<AgentKey> keys = route_.agent->keys();
    std::vector<AgentKey> certified;
    for (const auto& certificate : route_.certificates) {
      if (std::ranges::any_of(keys, [&](const AgentKey& key) { return key.blob == certificate->blob; })) continue;
      const auto signer =
          std::ranges::find_if(keys, [&](const AgentKey& key) { return certifies(certificate->blob, key.blob); });
      if (signer != keys.end()) certified.push_back({certificate->blob, certificate->path, signer->blob});
    }
    const auto rest =
        std::stable_partition(keys.begin(), keys.end(), [&](const AgentKey& key) { return is_identity(key); });
    if (route_.identities_only) keys.erase(rest, keys.end());
    keys.insert(keys.begin(), certified.begin(), certified.end());
    return keys;
  }

  bool try_agent() {
    if (!route_.agent) return false;
    const std::vector<AgentKey> keys = agent_keys();
    sys::Fd socket = keys.empty() ? sys::Fd() : route_.agent->show(keys);
    if (const string trouble = route_.agent->trouble(); !trouble.empty())
      add(skipped_, "the ssh agent (" + trouble + ")");
    if (!socket) return false;
    Watchdog::Guard guard = connection_.watchdog.watch(socket.get());
    guard.expires_at(Clock::now() + route_.limit);
    lib_.ssh_set_agent_socket(session_, socket.release());
    add(tried_, std::to_string(keys.size()) + (keys.size() == 1 ? " key" : " keys") + " of the ssh agent");
    for (size_t refusals = 0; refusals < keys.size(); ++refusals) {
      const int answer = finish([&] { return lib_.ssh_userauth_agent(session_, nullptr); });
      if (answer == SSH_AUTH_ERROR && lib_.ssh_is_connected(session_) != 0 && !connection_.guard.expired()) {
        if (refusals == 0) add(skipped_, "a key that the ssh agent cannot sign with");
        continue;  // go on with the keys after this key
      }
      if (answer == SSH_AUTH_PARTIAL) {
        if (partly("a key of the ssh agent")) return true;
        continue;  // go on with the next key: a host accepts each key only once
      }
      if (refusals == 0) {
        for (const AgentKey& key : keys) shown_.push_back(key.blob);
      }
      return ended(answer);
    }
    return false;
  }

  bool was_shown(const Identity& identity) const {
    return std::ranges::find(shown_, identity.public_blob) != shown_.end();
  }

  bool try_file(const Identity& identity) {
    if (was_shown(identity)) return false;
    if (identity.kind == Identity::Kind::unprotected) {
      add(skipped_, identity.path + " (readable by other users; run chmod 600)");
      return false;
    }
    if (identity.kind == Identity::Kind::encrypted) {
      add(skipped_, identity.path + " (has a passphrase; run ssh-add)");
      return false;
    }
    for (const auto& certificate : route_.certificates) {
      const bool fits = identity.public_blob.empty() ? certificate->path == identity.path + "-cert.pub"
                                                     : certifies(certificate->blob, identity.public_blob);
      if (fits && try_key(identity, certificate.get())) return true;
    }
    return try_key(identity, nullptr);
  }

  /// Tries the key with its certificate, or without a certificate.
  bool try_key(const Identity& identity, const Certificate* certificate) {
    const string& path = certificate ? certificate->path : identity.path;
    const Key key = load(identity, certificate);
    if (!key) {
      add(skipped_,
          path + (certificate ? " (libssh cannot read this certificate)" : " (libssh cannot read this private key)"));
      return false;
    }
    add(tried_, path);
    const int answer = finish([&] { return lib_.ssh_userauth_publickey(session_, nullptr, key.get()); });
    return answer == SSH_AUTH_PARTIAL ? partly(path) : ended(answer);
  }

  using Key = std::unique_ptr<ssh_key_struct, decltype(Library::ssh_key_free)>;

  Key load(const Identity& identity, const Certificate* certificate) const {
    ssh_key made = nullptr;
    if (identity.kind != Identity::Kind::foreign) {
      lib_.ssh_pki_import_privkey_base64(identity.key.c_str(), nullptr, nullptr, nullptr, &made);
    }
    Key key(made, lib_.ssh_key_free);
    if (!key || !certificate) return key;
    made = nullptr;
    lib_.ssh_pki_import_cert_base64(certificate->base64.c_str(), lib_.ssh_key_type_from_name(certificate->type.c_str()),
                                    &made);
    const Key read(made, lib_.ssh_key_free);
    if (!read || lib_.ssh_pki_copy_cert_to_privkey(read.get(), key.get()) != SSH_OK) key.reset();
    return key;
  }

  Disconnect refused(const string& why) const {
    string hint = "check the keys (tried: " + (tried_.empty() ? "none" : tried_);
    if (!skipped_.empty()) hint += "; not tried: " + skipped_;
    hint += ')';
    if (why.find("Too many") != string::npos) hint += "; set IdentityFile and IdentitiesOnly to select one key";
    return {.what = "cannot log in as " + route_.user, .why = why, .hint = hint};
  }

  const SshConnection& connection_;
  const Library& lib_;
  const ssh_session session_;
  const Route& route_;
  std::vector<string> shown_;  // keys of the agent, refused by the host
  string accepted_;            // keys accepted by a host that requires more
  string tried_;
  string skipped_;
  std::optional<Disconnect> end_;
};

}  // namespace

int SshConnection::finish(int again, const std::function<int()>& call) const {
  for (;;) {
    const int answer = call();
    if (answer != again) return answer;
    if (lib.ssh_is_connected(session) == 0 || guard.expired() || guard.ended()) return SSH_ERROR;
    const bool writes = (lib.ssh_get_poll_flags(session) & SSH_WRITE_PENDING) != 0;
    pollfd socket{guard.fd(), static_cast<short>(writes ? POLLIN | POLLOUT : POLLIN), 0};
    ::poll(&socket, 1, -1);  // a socket is readable after shutdown()
  }
}

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

std::optional<Disconnect> authenticate(const SshConnection& connection) { return Login(connection).run(); }

}  // namespace dlaunch::transport::ssh
