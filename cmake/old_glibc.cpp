// Functions that the compiler's libraries or dlaunch require, and that glibc 2.31 does not have. Linked into the
// programs if DLAUNCH_GLIBC is set (OldGlibc.cmake). Hidden: other libraries of the process keep the functions of their
// glibc.
#include <dlfcn.h>
#include <link.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <utility>

namespace {

struct Search {
  std::uintptr_t pc;
  dl_find_object* found;
};

/// For dl_iterate_phdr: returns 1 if this object contains the pc.
int find_object(dl_phdr_info* info, std::size_t /*size*/, void* data) {
  const Search& search = *static_cast<Search*>(data);
  const ElfW(Phdr)* eh_frame = nullptr;
  bool inside = false;
  std::uintptr_t first = UINTPTR_MAX;
  std::uintptr_t end = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type == PT_GNU_EH_FRAME) eh_frame = &segment;
    if (segment.p_type != PT_LOAD) continue;
    const std::uintptr_t start = info->dlpi_addr + segment.p_vaddr;
    inside = inside || (search.pc >= start && search.pc < start + segment.p_memsz);
    first = start < first ? start : first;
    end = start + segment.p_memsz > end ? start + segment.p_memsz : end;
  }
  if (!inside || eh_frame == nullptr) return 0;
  *search.found = {};
  search.found->dlfo_map_start = reinterpret_cast<void*>(first);
  search.found->dlfo_map_end = reinterpret_cast<void*>(end);
  search.found->dlfo_eh_frame = reinterpret_cast<void*>(info->dlpi_addr + eh_frame->p_vaddr);
  return 1;
}

constexpr std::pair<int, const char*> kSignals[] = {
    {SIGHUP, "HUP"},       {SIGINT, "INT"},   {SIGQUIT, "QUIT"},   {SIGILL, "ILL"},   {SIGTRAP, "TRAP"},
    {SIGABRT, "ABRT"},     {SIGBUS, "BUS"},   {SIGFPE, "FPE"},     {SIGKILL, "KILL"}, {SIGUSR1, "USR1"},
    {SIGSEGV, "SEGV"},     {SIGUSR2, "USR2"}, {SIGPIPE, "PIPE"},   {SIGALRM, "ALRM"}, {SIGTERM, "TERM"},
    {SIGSTKFLT, "STKFLT"}, {SIGCHLD, "CHLD"}, {SIGCONT, "CONT"},   {SIGSTOP, "STOP"}, {SIGTSTP, "TSTP"},
    {SIGTTIN, "TTIN"},     {SIGTTOU, "TTOU"}, {SIGURG, "URG"},     {SIGXCPU, "XCPU"}, {SIGXFSZ, "XFSZ"},
    {SIGVTALRM, "VTALRM"}, {SIGPROF, "PROF"}, {SIGWINCH, "WINCH"}, {SIGPOLL, "POLL"}, {SIGPWR, "PWR"},
    {SIGSYS, "SYS"}};

}  // namespace

extern "C" {

/// glibc 2.36; std::random_device.
__attribute__((visibility("hidden"))) std::uint32_t arc4random() noexcept {
  std::uint32_t value = 0;
  if (::syscall(SYS_getrandom, &value, sizeof value, 0U) != static_cast<long>(sizeof value)) std::abort();
  return value;
}

/// glibc 2.35; libgcc finds the handlers of an exception.
__attribute__((visibility("hidden"))) int _dl_find_object(void* pc, dl_find_object* found) noexcept {
  Search search{reinterpret_cast<std::uintptr_t>(pc), found};
  return ::dl_iterate_phdr(&find_object, &search) == 1 ? 0 : -1;
}

/// glibc 2.32; libstdc++ then always locks.
__attribute__((visibility("hidden"))) char __libc_single_threaded = 0;

/// glibc 2.32.
__attribute__((visibility("hidden"))) const char* sigabbrev_np(int signal) noexcept {
  for (const auto& [number, name] : kSignals) {
    if (number == signal) return name;
  }
  return nullptr;
}

}  // extern "C"
