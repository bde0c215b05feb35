#include "chaos/run/interface.h"

#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <sstream>
#include <vector>

#include "sys/fd.h"
#include "sys/files.h"

namespace dlaunch::chaos {
namespace {

constexpr const char* kTc = "tc";
constexpr unsigned kMostHandle = 0x7fff;     // the kernel chooses numbers from the next one on
constexpr long long kLeastBurst = 32 << 10;  // tbf drops longer packets
constexpr long long kBurstsASecond = 50;
constexpr size_t kMostRoutes = 4u << 20;
constexpr unsigned kToGateway = 0x2;  // RTF_GATEWAY
constexpr int kNoProgram = 127;

/// errno; 0: `change` was applied to the interface's flags.
template <class Change>
int with_flags(const std::string& name, Change change) {
  const sys::Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return errno;
  ifreq request{};
  name.copy(request.ifr_name, IFNAMSIZ - 1);
  if (::ioctl(socket.get(), SIOCGIFFLAGS, &request) != 0) return errno;
  request.ifr_flags = static_cast<short>(change(request.ifr_flags));
  return ::ioctl(socket.get(), SIOCSIFFLAGS, &request) == 0 ? 0 : errno;
}

/// The answer of the kernel's ioctl about the first IPv4 address of the interface; 0: no address.
std::uint32_t address_of(const std::string& name, unsigned long what) {
  const sys::Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  name.copy(request.ifr_name, IFNAMSIZ - 1);
  if (!socket || ::ioctl(socket.get(), what, &request) != 0) return 0;
  return reinterpret_cast<const sockaddr_in&>(request.ifr_addr).sin_addr.s_addr;
}

/// When an interface comes up again, the kernel restores the route to its own network and the local IPv6 address. It
/// does not restore other routes. Routes of other tables are not visible here.
bool loses_routes(const std::string& name) {
  const std::uint32_t mask = address_of(name, SIOCGIFNETMASK);
  const std::uint32_t network = address_of(name, SIOCGIFADDR) & mask;
  const auto number = [](const std::string& text) { return std::strtoul(text.c_str(), nullptr, 16); };
  std::istringstream routes(sys::read_file("/proc/self/net/route", kMostRoutes).value_or(""));
  for (std::string line; std::getline(routes, line);) {
    std::istringstream words(line);
    std::string interface, to, gateway, flags, references, uses, metric, its_mask;
    words >> interface >> to >> gateway >> flags >> references >> uses >> metric >> its_mask;
    const bool own = (number(flags) & kToGateway) == 0 && number(to) == network && number(its_mask) == mask;
    if (interface == name && !own) return true;
  }
  std::istringstream addresses(sys::read_file("/proc/self/net/if_inet6", kMostRoutes).value_or(""));
  for (std::string line; std::getline(addresses, line);) {
    std::istringstream words(line);
    std::string address, index, prefix, scope, flags, interface;
    words >> address >> index >> prefix >> scope >> flags >> interface;
    if (interface == name && scope == "00") return true;  // a global address; the kernel restores others
  }
  return false;
}

/// The exit code of tc; 127: not found.
int run_tc(const std::vector<std::string>& words) {
  std::vector<char*> argv = {const_cast<char*>(kTc)};
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t nowhere;
  ::posix_spawn_file_actions_init(&nowhere);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    ::posix_spawn_file_actions_addopen(&nowhere, fd, "/dev/null", O_RDWR, 0);
  }
  pid_t pid = -1;
  for (const char* const path : {"/usr/sbin/tc", "/sbin/tc", "/usr/bin/tc"}) {
    if (::posix_spawn(&pid, path, &nowhere, nullptr, argv.data(), environ) == 0) break;
    pid = -1;
  }
  ::posix_spawn_file_actions_destroy(&nowhere);
  int wait_status = 0;
  if (pid < 0) return kNoProgram;
  while (::waitpid(pid, &wait_status, 0) < 0) {
    if (errno != EINTR) return kNoProgram;
  }
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 1;
}

}  // namespace

std::string why_not_to_interface(const Fault& fault) {
  const std::string& name = fault.target.interface;
  int now = 0;
  const int error = with_flags(name, [&](int flags) { return now = flags; });
  if (error == ENODEV) return "unknown interface " + name + " in this network namespace";
  if (error == EPERM) return "changing interface " + name + " requires CAP_NET_ADMIN";
  if (error != 0) return "interface " + name + ": " + std::strerror(error);
  if ((now & IFF_UP) == 0) return "interface " + name + " is down already";
  if (fault.what == FaultKind::slow && run_tc({"-V"}) != 0) return "program tc (iproute2): not found";
  if (fault.what != FaultKind::cut || !loses_routes(name)) return {};
  return "interface " + name + " has further routes or IPv6 addresses, which the fault would remove";
}

bool is_broken(const Fault& fault) {
  if (fault.what != FaultKind::cut) return false;
  int now = IFF_UP;
  with_flags(fault.target.interface, [&](int flags) { return now = flags; });
  return (now & IFF_UP) == 0;
}

std::string draw_handle() {
  std::random_device random;
  std::ostringstream handle;
  handle << std::hex << std::uniform_int_distribution<unsigned>(1, kMostHandle)(random) << ':';
  return handle.str();
}

std::string break_interface(const Fault& fault, const std::string& handle) {
  const std::string& name = fault.target.interface;
  if (fault.what == FaultKind::cut) {
    const int error = with_flags(name, [](int flags) { return flags & ~IFF_UP; });
    return error == 0 ? "" : "interface " + name + ": cannot set it down: " + std::strerror(error);
  }
  const long long burst = std::max(kLeastBurst, fault.bytes / kBurstsASecond);
  const int code = run_tc({"qdisc", "add", "dev", name, "root", "handle", handle, "tbf", "rate",
                           std::to_string(fault.bytes) + "bps", "burst", std::to_string(burst), "latency", "400ms"});
  if (code == 0) return {};
  return "tc cannot slow interface " + name + ": it already has a queueing discipline, or the kernel lacks tbf";
}

void bring_up(const std::string& name) {
  with_flags(name, [](int flags) { return flags | IFF_UP; });
}

void speed_up(const std::string& name, const std::string& handle) {
  run_tc({"qdisc", "del", "dev", name, "root", "handle", handle});
}

}  // namespace dlaunch::chaos
