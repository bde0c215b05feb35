#include "wire/codec.h"

#include <array>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace dlaunch::wire {
namespace {

constexpr size_t kLengthSize = 4;
// capacity of an empty buffer; the additional memory of a long frame is released
constexpr size_t kKeptCapacity = 256u << 10;

template <class T>
concept Number = std::is_integral_v<T> || std::is_enum_v<T>;

/// The minimum size of a list item: of a number, or of the count before a string.
template <class T>
constexpr size_t kLeastSize = kLengthSize;
template <Number T>
constexpr size_t kLeastSize<T> = sizeof(T);

/// Limits the memory of all list items of a frame: an item of four bytes on the wire may take 32 in memory. The limit
/// is above that of execve.
constexpr size_t kMaxListMemory = 24u << 20;

template <class T>
constexpr std::uint32_t kMostBytes = kMaxFrame;
template <class T>
  requires requires { T::kMost; }
constexpr std::uint32_t kMostBytes<T> = T::kMost;

/// Returns true if a field of type T can have the received number.
template <class T>
constexpr bool is_value(std::uint64_t bits) {
  if constexpr (std::is_same_v<T, bool>) return bits <= 1;
  if constexpr (std::is_same_v<T, StreamMode>) return bits <= static_cast<std::uint64_t>(StreamMode::pty);
  return true;
}

class Encoder {
 public:
  explicit Encoder(std::string& out) : out_(out) {}

  template <Number T>
  void operator()(T value) {
    using Unsigned = std::make_unsigned_t<std::conditional_t<std::is_same_v<T, bool>, unsigned char, T>>;
    auto bits = static_cast<Unsigned>(value);
    for (size_t i = 0; i < sizeof(T); ++i) {
      out_ += static_cast<char>(bits & 0xff);
      bits = static_cast<Unsigned>(static_cast<std::uint64_t>(bits) >> 8);
    }
  }
  void operator()(const std::string& text) {
    if (text.size() > kMaxFrame) throw std::length_error("wire::encode: string over kMaxFrame");
    (*this)(static_cast<std::uint32_t>(text.size()));
    out_ += text;
  }
  template <class... T>
    requires(sizeof...(T) > 1)
  void operator()(const T&... fields) {
    ((*this)(fields), ...);
  }
  template <class T>
  void operator()(const std::vector<T>& list) {
    if (list.size() > kMaxListItems) throw std::length_error("wire::encode: list over kMaxListItems");
    (*this)(static_cast<std::uint32_t>(list.size()));
    for (const T& item : list) (*this)(item);
  }

 private:
  std::string& out_;
};

/// Reads fields from the payload of a frame. After a read past the end it stays bad and returns zeros.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  bool complete() const { return ok_ && bytes_.empty(); }

  template <Number T>
  void operator()(T& value) {
    const std::string_view raw = take(sizeof(T));
    std::uint64_t bits = 0;
    for (size_t i = 0; i < raw.size(); ++i) bits |= std::uint64_t{static_cast<unsigned char>(raw[i])} << (8 * i);
    if (!is_value<T>(bits)) ok_ = false;
    value = ok_ ? static_cast<T>(bits) : T{};
  }
  void operator()(std::string& text) {
    std::uint32_t size = 0;
    (*this)(size);
    text = take(size);
  }
  template <class... T>
    requires(sizeof...(T) > 1)
  void operator()(T&... fields) {
    ((*this)(fields), ...);
  }
  template <class T>
  void operator()(std::vector<T>& list) {
    std::uint32_t size = 0;
    (*this)(size);
    // The count is checked before the allocation.
    if (size > kMaxListItems || size > bytes_.size() / kLeastSize<T> || size > memory_ / sizeof(T)) ok_ = false;
    if (!ok_) return;
    memory_ -= size * sizeof(T);
    list.resize(size);
    for (T& item : list) (*this)(item);
  }

 private:
  std::string_view take(size_t size) {
    if (!ok_ || size > bytes_.size()) {
      ok_ = false;
      return {};
    }
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }

  std::string_view bytes_;
  size_t memory_ = kMaxListMemory;  // bytes left for the lists
  bool ok_ = true;
};

using Parse = bool (*)(std::string_view, Message&);

template <class T>
bool parse(std::string_view payload, Message& message) {
  Reader reader(payload);
  message.emplace<T>().fields(reader);
  return reader.complete();
}

struct Kind {
  Parse parse = nullptr;  ///< null: unused type
  std::uint32_t most = kMaxFrame;
};

/// Indexed by the type byte.
constexpr auto kKinds = []<size_t... I>(std::index_sequence<I...>) {
  std::array<Kind, 256> kinds{};
  ((kinds[std::variant_alternative_t<I, Message>::kType] = {parse<std::variant_alternative_t<I, Message>>,
                                                            kMostBytes<std::variant_alternative_t<I, Message>>}),
   ...);
  return kinds;
}(std::make_index_sequence<std::variant_size_v<Message>>{});

std::uint32_t length_at(std::string_view bytes) {
  std::uint32_t length = 0;
  Reader reader(bytes.substr(0, kLengthSize));
  reader(length);
  return length;
}

tl::unexpected<Error> bad_frame(std::string why) { return fail({"", "bad frame", std::move(why), "", kExitHostLost}); }

}  // namespace

void encode(const Message& message, std::string& out) {
  const size_t start = out.size();
  Encoder encoder(out);
  encoder(std::uint32_t{0});  // the length is filled in below
  try {
    std::visit(
        [&](const auto& m) {
          using T = std::decay_t<decltype(m)>;
          encoder(T::kType);
          const_cast<T&>(m).fields(encoder);  // `fields` serves both directions; the encoder only reads
        },
        message);
    const size_t size = out.size() - start - kLengthSize;
    if (size > kKinds[static_cast<unsigned char>(out[start + kLengthSize])].most) {
      throw std::length_error("wire::encode: a frame over what its type may have");
    }
    std::string length;
    Encoder length_encoder(length);
    length_encoder(static_cast<std::uint32_t>(size));
    out.replace(start, kLengthSize, length);
  } catch (...) {
    out.resize(start);
    throw;
  }
}

bool fits(const Message& message) {
  std::string frame;
  try {
    encode(message, frame);
  } catch (const std::length_error&) {
    return false;
  }
  return true;
}

void Decoder::feed(std::string_view bytes) {
  if (start_ == buffer_.size()) {
    buffer_.clear();
    start_ = 0;
    if (buffer_.capacity() > kKeptCapacity) buffer_.shrink_to_fit();
  } else if (start_ >= buffer_.size() - start_) {  // linear in total: each move is not longer than the decoded bytes
    buffer_.erase(0, start_);
    start_ = 0;
  }
  buffer_ += bytes;
}

Result<std::optional<Message>> Decoder::next() {
  const std::string_view rest = std::string_view(buffer_).substr(start_);
  if (rest.size() < kLengthSize) return std::nullopt;
  const std::uint32_t length = length_at(rest);
  if (length == 0 || length > kMaxFrame) return bad_frame("length " + std::to_string(length));
  if (rest.size() == kLengthSize) return std::nullopt;
  const auto type = static_cast<unsigned char>(rest[kLengthSize]);
  const Kind& kind = kKinds[type];
  if (!kind.parse) return bad_frame("unknown type " + std::to_string(type));
  if (!may_send(from_, type)) return bad_frame("type " + std::to_string(type) + ", which only the other side sends");
  if (length > kind.most) return bad_frame("length " + std::to_string(length) + " of type " + std::to_string(type));
  if (rest.size() < kLengthSize + length) return std::nullopt;
  Message message;
  if (!kind.parse(rest.substr(kLengthSize + 1, length - 1), message)) {
    return bad_frame("malformed fields of type " + std::to_string(type));
  }
  start_ += kLengthSize + length;
  return message;
}

}  // namespace dlaunch::wire
