// The pump between launcher and channel, with a fake libssh whose socket accepts only the bytes that a test allows.
#include "transport/ssh/pump.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "sys/io.h"

namespace dlaunch::transport::ssh {
namespace {

using namespace std::chrono_literals;

/// libssh as seen by the pump: written bytes are stored, without a limit, until the socket accepts them.
struct FakeSsh {
  std::mutex mutex;
  size_t written = 0;
  size_t socket_takes = 0;  // of all written bytes
  bool ended = false;       // the program on the host has ended, together with its channel
  bool connected = true;
  std::vector<pollfd> watched;  // used only by the pump's thread
};
FakeSsh* fake = nullptr;  // the functions of libssh have no user data

FakeSsh* of(ssh_session session) { return reinterpret_cast<FakeSsh*>(session); }

int status(ssh_session session) {
  const std::lock_guard lock(of(session)->mutex);
  return of(session)->written > of(session)->socket_takes ? SSH_WRITE_PENDING : 0;
}

int write_to_channel(ssh_channel, const void*, uint32_t size) {
  const std::lock_guard lock(fake->mutex);
  if (fake->ended || !fake->connected) return SSH_ERROR;
  fake->written += size;
  return static_cast<int>(size);
}

int add_fd(ssh_event, socket_t fd, short events, ssh_event_callback, void*) {
  fake->watched.push_back({fd, events, 0});
  return SSH_OK;
}

int remove_fd(ssh_event, socket_t fd) {
  std::erase_if(fake->watched, [&](const pollfd& one) { return one.fd == fd; });
  return SSH_OK;
}

int wait_a_little(ssh_event, int) {
  ::poll(fake->watched.data(), fake->watched.size(), 5);
  return SSH_OK;
}

int closed(ssh_channel) {
  const std::lock_guard lock(fake->mutex);
  return fake->ended || !fake->connected ? 1 : 0;
}

int connected(ssh_session session) {
  const std::lock_guard lock(of(session)->mutex);
  return of(session)->connected ? 1 : 0;
}

Library fake_library() {
  Library lib;
  lib.ssh_event_new = [] { return reinterpret_cast<ssh_event>(fake); };
  lib.ssh_event_free = [](ssh_event) {};
  lib.ssh_event_add_session = [](ssh_event, ssh_session) { return SSH_OK; };
  lib.ssh_event_remove_session = [](ssh_event, ssh_session) { return SSH_OK; };
  lib.ssh_event_add_fd = add_fd;
  lib.ssh_event_remove_fd = remove_fd;
  lib.ssh_event_dopoll = wait_a_little;
  lib.ssh_set_counters = [](ssh_session, ssh_counter, ssh_counter) {};
  lib.ssh_get_status = status;
  lib.ssh_get_error = [](void*) { return "libssh's words"; };
  lib.ssh_is_connected = connected;
  lib.ssh_channel_window_size = [](ssh_channel) { return 2u << 20; };
  lib.ssh_channel_write = write_to_channel;
  lib.ssh_channel_send_eof = [](ssh_channel) { return SSH_OK; };
  lib.ssh_channel_read_nonblocking = [](ssh_channel, void*, uint32_t, int) { return 0; };
  lib.ssh_channel_is_eof = [](ssh_channel) { return 0; };
  lib.ssh_channel_is_closed = closed;
  return lib;
}

class Pumping : public testing::Test {
 protected:
  Pumping() {
    fake = &fake_;
    sys::set_nonblocking(theirs.get());
    thread_ = std::thread([this] {
      const Library lib = fake_library();
      why_ = pump({lib, reinterpret_cast<ssh_session>(&fake_), nullptr, theirs, nowhere_, nowhere_, idle});
    });
  }
  ~Pumping() override {
    if (thread_.joinable()) end(true);
  }

  /// Ends the program on the host, or the connection. Returns the result of the pump.
  std::string end(bool connected, std::string_view last_sent = {}) {
    {
      const std::lock_guard lock(fake_.mutex);
      fake_.ended = connected;
      fake_.connected = connected;
      if (!last_sent.empty()) ::send(ours.get(), last_sent.data(), last_sent.size(), 0);
    }
    thread_.join();
    return why_;
  }

  void let_the_socket_take(size_t bytes) {
    const std::lock_guard lock(fake_.mutex);
    fake_.socket_takes = bytes;
  }
  size_t written() {
    const std::lock_guard lock(fake_.mutex);
    return fake_.written;
  }
  static bool until(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + 5s;
    while (!condition() && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(1ms);
    return condition();
  }

  std::pair<sys::Fd, sys::Fd> pair_ = sys::make_socketpair();
  sys::Fd& ours = pair_.first;
  sys::Fd& theirs = pair_.second;
  std::mutex mutex_;
  sys::PumpIdleFlag idle{mutex_};

 private:
  FakeSsh fake_;
  const sys::Fd nowhere_;
  std::string why_;
  std::thread thread_;
};

TEST_F(Pumping, StopsReadingIfNetworkIsSlow) {
  const std::string much(128 << 10, 'x');
  sys::set_nonblocking(ours.get());
  const ssize_t sent = ::send(ours.get(), much.data(), much.size(), 0);
  ASSERT_GT(sent, 64 << 10);
  ASSERT_TRUE(until([&] { return written() > 0; }));
  std::this_thread::sleep_for(50ms);  // time for a further write
  EXPECT_LE(written(), 32u << 10);
  let_the_socket_take(much.size());
  EXPECT_TRUE(until([&] { return written() == static_cast<size_t>(sent); })) << written();
}

TEST_F(Pumping, IsIdleAfterAllBytesAreSent) {
  let_the_socket_take(5);
  ASSERT_EQ(::send(ours.get(), "hello", 5, 0), 5);
  ASSERT_TRUE(until([&] { return written() == 5 && idle.now(); }));
  ASSERT_EQ(::send(ours.get(), "again", 5, 0), 5);
  ASSERT_TRUE(until([&] { return written() == 10; }));
  std::this_thread::sleep_for(50ms);  // time to become idle
  EXPECT_FALSE(idle.now());
  let_the_socket_take(10);
  EXPECT_TRUE(until([&] { return idle.now(); }));
}

TEST_F(Pumping, ProgramEndBeforeAllInputIsNotALostConnection) { EXPECT_EQ(end(true, "late"), ""); }

TEST_F(Pumping, ReportsLostConnection) { EXPECT_EQ(end(false, "late"), "libssh's words"); }

}  // namespace
}  // namespace dlaunch::transport::ssh
