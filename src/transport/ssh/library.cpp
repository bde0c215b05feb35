#include "transport/ssh/library.h"

#include <dlfcn.h>

namespace dlaunch::transport::ssh {
namespace {

constexpr const char* kFile = "libssh.so.4";

tl::unexpected<Error> cannot_load() {
  const char* why = ::dlerror();
  return fail({.where = "ssh",
               .what = std::string("cannot load ") + kFile,
               .why = why ? why : "",
               .hint = "install the package libssh-4, or use OpenSSH's client: --exec 'ssh -T {host}'",
               .exit_code = kExitHostLost});
}

}  // namespace

Result<Library> load_library() {
  void* const file = ::dlopen(kFile, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!file) return cannot_load();
  Library library;
#define DLAUNCH_FIND(name)                                                  \
  library.name = reinterpret_cast<decltype(&::name)>(::dlsym(file, #name)); \
  if (!library.name) return cannot_load();
  DLAUNCH_LIBSSH_FUNCTIONS(DLAUNCH_FIND)
#undef DLAUNCH_FIND
  return library;
}

}  // namespace dlaunch::transport::ssh
