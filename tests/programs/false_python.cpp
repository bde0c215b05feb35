// false_python THREADS TABLE: a process with false structures of CPython 3.11: THREADS threads of 256 frames, each with
// its own code object, a name of 512 bytes and a line table of TABLE bytes. Prints "ready" and waits.
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <semaphore>
#include <vector>

extern "C" {
[[gnu::visibility("default"), gnu::used]] std::uint64_t _PyRuntime[512] = {1};
[[gnu::visibility("default"), gnu::used]] std::uint32_t Py_Version = 0x030b07f0;
}

namespace {

constexpr std::size_t kFrames = 256;
constexpr std::size_t kOfAFrame = 512;
constexpr std::size_t kOfAThread = (kFrames + 2) * kOfAFrame;

std::counting_semaphore<> started(0);

std::uint64_t address(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

template <class T>
void put(char* at, std::size_t offset, T value) {
  std::memcpy(at + offset, &value, sizeof value);
}

void* run(void* id) {
  *static_cast<long*>(id) = ::syscall(SYS_gettid);
  started.release();
  for (;;) ::pause();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto threads = static_cast<std::size_t>(std::atoi(argv[1]));
  const auto table_size = static_cast<std::uint64_t>(std::atoi(argv[2]));
  std::vector<long> ids(threads, ::getpid());
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 32u << 10);
  for (std::size_t t = 1; t < threads; ++t) {
    pthread_t thread = {};
    if (pthread_create(&thread, &attributes, run, &ids[t]) != 0) return 3;
    started.acquire();
  }
  constexpr std::size_t kHead = 2u << 20;
  void* const mapped = ::mmap(nullptr, kHead + threads * kOfAThread, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return 3;
  char* const interpreter = static_cast<char*>(mapped);
  char* const type = interpreter + 4096;
  char* const text = type + 4096;
  char* const table = text + 4096;
  char* const first = interpreter + kHead;
  put<std::uint64_t>(text, 16, 512);
  put<std::uint32_t>(text, 32, 0x64);  // compact, ASCII
  std::memset(text + 48, 'A', 512);
  put(table, 16, table_size);
  std::memset(table + 32, 0x80, table_size);
  put(interpreter, 16, address(first));
  for (std::size_t t = 0; t < threads; ++t) {
    char* const thread = first + t * kOfAThread;
    char* const frames = thread + 2 * kOfAFrame;
    put(thread, 8, t + 1 < threads ? address(thread + kOfAThread) : 0);
    put(thread, 56, address(thread + kOfAFrame));
    put(thread, 160, static_cast<std::uint64_t>(ids[t]));
    put(thread + kOfAFrame, 8, address(frames));
    for (std::size_t i = 0; i < kFrames; ++i) {
      char* const frame = frames + i * kOfAFrame;
      char* const code = frame + 256;
      put(frame, 32, address(code));
      put(frame, 48, i + 1 < kFrames ? address(frame + kOfAFrame) : 0);
      put(frame, 56, address(code + 184));
      put(code, 8, address(type));
      put(code, 112, address(text));
      put(code, 128, address(text));
      put(code, 136, address(table));
    }
  }
  _PyRuntime[5] = address(interpreter);
  std::puts("ready");
  std::fflush(stdout);
  for (;;) ::pause();
}
