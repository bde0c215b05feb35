#include "transport/ssh/authenticate.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace dlaunch::transport::ssh {
namespace {

using std::string;

constexpr const char* kWordOfSshd = "Received SSH_MSG_DISCONNECT";

void add(string& list, const string& item) { list += (list.empty() ? "" : ", ") + item; }

class Login {
 public:
  explicit Login(const Connection& connection)
      : connection_(connection), lib_(connection.lib), session_(connection.session), route_(connection.route) {}

  std::optional<WayEnd> run() {
    if (ended(asked([&] { return lib_.ssh_userauth_none(session_, nullptr); }))) return end_;
    const auto methods = static_cast<unsigned>(lib_.ssh_userauth_list(session_, nullptr));
    if (!route_.public_keys) return refused("the ssh configuration allows no public keys");
    if ((methods & SSH_AUTH_METHOD_PUBLICKEY) == 0) return refused("it takes no public key");
    if (try_agent()) return end_;
    for (const auto& identity : route_.identities) {
      if (try_file(*identity)) return end_;
    }
    for (const string& path : route_.missing_identities) add(skipped_, path + " (does not exist)");
    return refused("Permission denied (publickey)");
  }

 private:
  /// True when there is nothing more to try: it let us in, or the connection is gone.
  bool ended(int answer) {
    if (answer == SSH_AUTH_SUCCESS) return true;
    if (answer != SSH_AUTH_ERROR) return false;
    const string why = lib_.ssh_get_error(session_);
    end_ = refused(why);
    // Without a word from sshd it may be a host that is still booting, or going down.
    if (!why.starts_with(kWordOfSshd)) end_->retry = WayEnd::Retry::when_up;
    return true;
  }

  int asked(const std::function<int()>& call) const { return connection_.finish(SSH_AUTH_AGAIN, call); }

  bool is_identity(const AgentKey& key) const {
    return std::ranges::any_of(route_.identities, [&](const auto& one) { return one->public_blob == key.blob; });
  }

  /// Those that the user named, in front; the others too unless IdentitiesOnly.
  std::vector<AgentKey> agent_keys() const {
    std::vector<AgentKey> keys = route_.agent->keys();
    const auto rest =
        std::stable_partition(keys.begin(), keys.end(), [&](const AgentKey& key) { return is_identity(key); });
    if (route_.identities_only) keys.erase(rest, keys.end());
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
    guard.expires_at(Watchdog::Clock::now() + route_.limit);
    lib_.ssh_set_agent_socket(session_, socket.release());
    add(tried_, std::to_string(keys.size()) + (keys.size() == 1 ? " key" : " keys") + " of the ssh agent");
    for (size_t refusals = 0; refusals < keys.size(); ++refusals) {
      const int answer = asked([&] { return lib_.ssh_userauth_agent(session_, nullptr); });
      if (answer == SSH_AUTH_ERROR && lib_.ssh_is_connected(session_) != 0 && !connection_.guard.expired()) {
        if (refusals == 0) add(skipped_, "a key that the ssh agent did not sign with");
        continue;  // with those behind it
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
      add(skipped_, identity.path + " (others may read it; chmod 600 makes it usable)");
      return false;
    }
    if (identity.kind == Identity::Kind::encrypted) {
      add(skipped_, identity.path + " (has a passphrase; ssh-add puts it into the agent)");
      return false;
    }
    ssh_key key = nullptr;
    if (identity.kind == Identity::Kind::foreign ||
        lib_.ssh_pki_import_privkey_base64(identity.key.c_str(), nullptr, nullptr, nullptr, &key) != SSH_OK) {
      add(skipped_, identity.path + " (no private key that libssh reads)");
      return false;
    }
    add(tried_, identity.path);
    const bool over = ended(asked([&] { return lib_.ssh_userauth_publickey(session_, nullptr, key); }));
    lib_.ssh_key_free(key);
    return over;
  }

  WayEnd refused(const string& why) const {
    string hint = tried_.empty() ? "no key was tried" : "tried: " + tried_;
    if (!skipped_.empty()) hint += "; not tried: " + skipped_;
    if (why.find("Too many") != string::npos) hint += "; IdentityFile with IdentitiesOnly names the right one";
    return {.what = "cannot log in as " + route_.user, .why = why, .hint = hint};
  }

  const Connection& connection_;
  const Library& lib_;
  const ssh_session session_;
  const Route& route_;
  std::vector<string> shown_;  // keys of the agent's that the host refused
  string tried_;
  string skipped_;
  std::optional<WayEnd> end_;
};

}  // namespace

std::optional<WayEnd> authenticate(const Connection& connection) { return Login(connection).run(); }

}  // namespace dlaunch::transport::ssh
