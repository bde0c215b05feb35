// Sends the PMI server any bytes of a host's ranks; the last rank uses PMI-2. Answers must be lines or frames, a
// disconnected rank must get no answer, and the key-value space must stay within its limits.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "pmi/server.h"

namespace {

using namespace dlaunch;

constexpr std::uint32_t kRanks = 3;

void require(bool holds) {
  if (!holds) std::abort();
}

class Host {
 public:
  Host(bool alone, std::uint32_t first_in_frames) : server_(world(alone)) {
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      server_.join(rank, 0);
      if (rank < first_in_frames) {
        take(server_.received(rank, "cmd=init pmi_version=1 pmi_subversion=1\n"));
      } else {
        take(server_.received(rank, "cmd=init pmi_version=2 pmi_subversion=0\n"));
        say_frame(rank, "cmd=fullinit;pmirank=0;threaded=FALSE;");
      }
    }
  }

  void say_frame(std::uint32_t rank, std::string_view text) {
    say(rank, (std::to_string(text.size()) + "      ").substr(0, 6).append(text));
  }

  void say(std::uint32_t rank, std::string_view bytes) {
    if (!closed_.contains(rank)) take(server_.received(rank, bytes));
  }
  void leave(std::uint32_t rank) {
    closed_.insert(rank);
    take(server_.gone(rank));
  }
  void take(const pmi::Actions& actions) {
    for (const pmi::Action& action : actions) {
      if (const auto* send = std::get_if<pmi::Send>(&action)) check(*send);
      if (const auto* hang_up = std::get_if<pmi::CloseConnection>(&action)) closed_.insert(hang_up->rank);
      if (const auto* gather = std::get_if<pmi::Gather>(&action)) end_fence(*gather);
      if (const auto* ask = std::get_if<pmi::AskName>(&action)) take(server_.name_answered(ask->rank, true, "port"));
      if (const auto* ask = std::get_if<pmi::AskSpawn>(&action)) answer(*ask);
      if (const auto* abort = std::get_if<pmi::Abort>(&action)) require(abort->code < 256);
      if (const auto* complain = std::get_if<pmi::PrintWarning>(&action)) {
        require(!complain->text.empty() && complain->text.find('\n') == std::string::npos);
      }
    }
  }

 private:
  static pmi::World world(bool alone) {
    pmi::World world{"kvs", kRanks + 1, 8, "(vector,(0,1,4))", kRanks, alone};
    if (!alone) world.parent = "kvs_1";
    return world;
  }
  void check(const pmi::Send& send) {
    require(!closed_.contains(send.rank));
    if (in_frames_.contains(send.rank)) return check_frame(send.bytes);
    require(send.bytes.starts_with("cmd=") && send.bytes.ends_with('\n') && send.bytes.size() < 2048);
    require(send.bytes.find('\n') == send.bytes.size() - 1);
    if (send.bytes.starts_with("cmd=response_to_init pmi_version=2 ")) in_frames_.insert(send.rank);
  }
  void check_frame(const std::string& bytes) {
    pmi::FrameReader reader;
    reader.feed(bytes);
    const auto frame = reader.next();
    require(frame && *frame && reader.empty() && (*frame)->size() < 8192);
    const auto line = pmi::parse_frame(**frame);
    require(line && (*line)["cmd"].ends_with("-response") && !(*line)["rc"].empty());
    if ((*line)["cmd"] == "spawn-response") require(line->has("jobid") == ((*line)["rc"] == "0"));
  }
  void answer(const pmi::AskSpawn& ask) {
    require(!ask.programs.empty() && ask.programs.size() <= kMostPrograms && ask.pairs.size() % 2 == 0);
    for (size_t i = 0; i < ask.pairs.size(); i += 2) {
      require(!ask.pairs[i].empty() && ask.pairs[i].size() <= 64 && ask.pairs[i + 1].size() <= 1024);
    }
    size_t bytes = 0;
    for (const SpawnProgram& program : ask.programs) {
      require(!program.argv.empty());
      for (const std::string& word : program.argv) bytes += word.size();
    }
    require(bytes <= 2 * pmi::kMaxSpawn);  // the directory may precede the name
    take(server_.spawn_answered(ask.rank, ask.programs[0].ranks % 2 == 0, "kvs_2"));
  }
  void end_fence(const pmi::Gather& gather) {
    require(gather.pairs.size() % 2 == 0);
    take(server_.shared(gather.pairs, true, !gather.gone.empty()));
  }

  pmi::PmiServer server_;
  std::set<std::uint32_t> closed_;
  std::set<std::uint32_t> in_frames_;
};

}  // namespace

/// A byte of 0 to 2 chooses the rank that sends the following bytes, a byte of 3 to 5 disconnects a rank, and 6 makes
/// the next bytes a single frame.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  Host host(size % 2 == 0, size % 3 == 0 ? kRanks - 1 : size % 3 == 1 ? 0 : kRanks);
  std::uint32_t speaker = 0;
  bool as_frame = false;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find_first_of(std::string_view("\0\1\2\3\4\5\6", 7)), rest.size());
    const std::string_view said = rest.substr(0, end);
    if (as_frame) {
      host.say_frame(speaker, said);
    } else {
      host.say(speaker, said);
    }
    if (end == rest.size()) break;
    const auto mark = static_cast<std::uint32_t>(rest[end]);
    as_frame = mark == 2 * kRanks;
    if (mark < kRanks) {
      speaker = mark;
    } else if (!as_frame) {
      host.leave(mark - kRanks);
    }
    rest.remove_prefix(end + 1);
  }
  return 0;
}
