#include "transport/ssh/authenticate.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace dlaunch::transport::ssh {
namespace {

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
    // Without a reason from sshd, its process ended, maybe with the host; a new attempt may succeed.
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

std::optional<Disconnect> authenticate(const SshConnection& connection) { return Login(connection).run(); }

}  // namespace dlaunch::transport::ssh
