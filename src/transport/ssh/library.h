// The functions of libssh, with their own names. libssh is loaded for the first host: a job on this machine does not
// load the library. Only this file includes the headers of libssh. A value; the library stays loaded.
#pragma once

#include <libssh/libssh.h>

#include "dlaunch/error.h"

// clang-format off
#define DLAUNCH_LIBSSH_FUNCTIONS(F)                                                                                  \
  F(ssh_new) F(ssh_free) F(ssh_options_set) F(ssh_connect) F(ssh_silent_disconnect) F(ssh_get_error) F(ssh_set_blocking)  \
  F(ssh_get_server_publickey) F(ssh_pki_export_pubkey_base64) F(ssh_get_publickey_hash) F(ssh_clean_pubkey_hash)     \
  F(ssh_get_fingerprint_hash) F(ssh_string_free_char) F(ssh_key_free) F(ssh_pki_import_privkey_base64)               \
  F(ssh_key_type_from_name) F(ssh_pki_import_cert_base64) F(ssh_pki_copy_cert_to_privkey)                            \
  F(ssh_userauth_none) F(ssh_userauth_list) F(ssh_userauth_publickey) F(ssh_userauth_agent) F(ssh_set_agent_socket) F(ssh_is_connected) F(ssh_get_poll_flags) F(ssh_get_status) F(ssh_set_counters) \
  F(ssh_channel_new) F(ssh_channel_free) F(ssh_channel_open_session) F(ssh_channel_request_exec)                     \
  F(ssh_channel_read_nonblocking) F(ssh_channel_write) F(ssh_channel_window_size) F(ssh_channel_send_eof)            \
  F(ssh_channel_is_eof) F(ssh_channel_is_closed) F(ssh_event_new) F(ssh_event_free) F(ssh_event_add_session)         \
  F(ssh_event_remove_session) F(ssh_event_add_fd) F(ssh_event_remove_fd) F(ssh_event_dopoll)
// clang-format on

namespace dlaunch::transport::ssh {

struct Library {
#define DLAUNCH_MEMBER(name) decltype(&::name) name = nullptr;  // NOLINT(bugprone-macro-parentheses): a declaration
  DLAUNCH_LIBSSH_FUNCTIONS(DLAUNCH_MEMBER)
#undef DLAUNCH_MEMBER
};

/// Loads libssh; later calls reuse the loaded library.
Result<Library> load_library();

}  // namespace dlaunch::transport::ssh
