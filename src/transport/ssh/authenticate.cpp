#include "transport/ssh/authenticate.h"

#include <string>

namespace dlaunch::transport::ssh {
namespace {

using std::string;

class Login {
 public:
  explicit Login(const Handshaken& connection)
      : lib_(connection.lib), session_(connection.session), route_(connection.route) {}

  std::optional<WayEnd> run() {
    if (ended(lib_.ssh_userauth_none(session_, nullptr))) return end_;
    const auto methods = static_cast<unsigned>(lib_.ssh_userauth_list(session_, nullptr));
    if ((methods & SSH_AUTH_METHOD_PUBLICKEY) == 0) return refused("it takes no public key");
    for (const auto& identity : route_.identities) {
      if (identity->kind != Identity::Kind::usable) {
        skip(*identity);
      } else if (try_file(*identity)) {
        return end_;
      }
    }
    return refused("Permission denied");
  }

 private:
  /// True when there is nothing more to try: it let us in, or the connection is gone.
  bool ended(int answer) {
    if (answer == SSH_AUTH_SUCCESS) return true;
    if (answer != SSH_AUTH_ERROR) return false;
    end_ = WayEnd{.what = "cannot log in as " + route_.user,
                  .why = lib_.ssh_get_error(session_),
                  .hint = "",
                  .retry = WayEnd::Retry::never};
    return true;
  }

  bool try_file(const Identity& identity) {
    ssh_key key = nullptr;
    if (lib_.ssh_pki_import_privkey_base64(identity.key.c_str(), nullptr, nullptr, nullptr, &key) != SSH_OK) {
      skipped_ += (skipped_.empty() ? "" : ", ") + identity.path + " cannot be read";
      return false;
    }
    tried_ += (tried_.empty() ? "" : ", ") + identity.path;
    const bool over = ended(lib_.ssh_userauth_publickey(session_, nullptr, key));
    lib_.ssh_key_free(key);
    return over;
  }

  void skip(const Identity& identity) {
    skipped_ +=
        (skipped_.empty() ? "" : ", ") + identity.path +
        (identity.kind == Identity::Kind::encrypted ? " has a passphrase" : " is no private key of a known kind");
  }

  WayEnd refused(const string& why) const {
    string hint = tried_.empty() ? "no key was there to try" : "tried: " + tried_;
    if (!skipped_.empty()) hint += "; left out: " + skipped_;
    return {.what = "cannot log in as " + route_.user, .why = why, .hint = hint + "; ssh-add adds a key to the agent"};
  }

  const Library& lib_;
  const ssh_session session_;
  const Route& route_;
  string tried_;
  string skipped_;
  std::optional<WayEnd> end_;
};

}  // namespace

std::optional<WayEnd> authenticate(const Handshaken& connection) { return Login(connection).run(); }

}  // namespace dlaunch::transport::ssh
