#include "stacks/python.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace dlaunch::stacks {
namespace {

// Offsets in an object. The content of an int is its size and digits, of a float its value, of a list its size and the
// address of its items, of a dict its size and version.
constexpr std::uint64_t kTypeName = 24;
constexpr std::uint64_t kContent = 16;

// In PyDictObject, and in PyDictKeysObject since 3.11.
constexpr std::uint64_t kKeys = 32;
constexpr std::uint64_t kLog2OfIndexBytes = 9;
constexpr std::uint64_t kKeysKind = 10;
constexpr std::uint64_t kEntryCount = 24;
constexpr std::uint64_t kIndices = 32;
constexpr std::uint64_t kMostEntries = 4096;
constexpr std::size_t kLooksAtLast = 256;  // limit of entries: a script's variables follow its imports

}  // namespace

void ValueHash::add_variable(std::uint64_t value) { add_value(value, 1); }

void ValueHash::add_value(std::uint64_t value, int cells) {
  add(value);
  if (value == 0 || ++looked_into_ > kMostLookedInto) return;
  const std::uint64_t object = value & ~kPointerTag;
  std::array<std::uint64_t, 3> head{};  // the type of the object, then two words
  if (!read_(object + kObjectType, {reinterpret_cast<char*>(head.data()), sizeof head})) return;
  switch (kind_of(head[0])) {
    case Kind::other:
      return;
    case Kind::cell:
      if (cells > 0) add_value(head[1], cells - 1);
      return;
    case Kind::two_words:
      add(head[2]);
      [[fallthrough]];
    case Kind::one_word:
      add(head[1]);
  }
}

ValueHash::Kind ValueHash::kind_of(std::uint64_t type) {
  if (const auto known = kinds_.find(type); known != kinds_.end()) return known->second;
  const auto name = value_at<std::uint64_t>(read_, type + kTypeName);
  const std::string text = name ? bytes_at(read_, *name, sizeof "float") : "";
  const auto is = [&](std::string_view wanted) { return text.starts_with(std::string(wanted) + '\0'); };
  Kind kind = Kind::other;
  if (is("float")) kind = Kind::one_word;
  if (is("int") || is("list") || is("dict")) kind = Kind::two_words;
  if (is("cell")) kind = Kind::cell;
  return kinds_.emplace(type, kind).first->second;
}

/// Up to 3.12 a dict has a version, which changes with each change of the dict.
void ValueHash::add_names(std::uint64_t dict) {
  add(dict);
  std::array<std::uint64_t, 2> content{};
  if (!read_(dict + kContent, {reinterpret_cast<char*>(content.data()), sizeof content})) return;
  add(content[0]);
  add(content[1]);
  if (!layout_.dicts_have_versions) add_entries(dict);
}

void ValueHash::add_entries(std::uint64_t dict) {
  const auto keys = value_at<std::uint64_t>(read_, dict + kKeys);
  const auto log2 = keys ? value_at<std::uint8_t>(read_, *keys + kLog2OfIndexBytes) : std::nullopt;
  const auto kind = keys ? value_at<std::uint8_t>(read_, *keys + kKeysKind) : std::nullopt;
  const auto count = keys ? value_at<std::uint64_t>(read_, *keys + kEntryCount) : std::nullopt;
  if (!log2 || !kind || !count || *log2 > 32) return;
  const std::size_t words = *kind == 0 ? 3 : 2;  // with its hash if the keys are not strings; key, value
  std::vector<std::uint64_t> entries(std::min(*count, kMostEntries) * words);
  const std::uint64_t first = *keys + kIndices + (std::uint64_t{1} << *log2);
  if (!read_(first, {reinterpret_cast<char*>(entries.data()), entries.size() * sizeof(std::uint64_t)})) return;
  const std::size_t size = entries.size() / words;
  for (std::size_t i = 0; i < size; ++i) {
    const std::uint64_t value = entries[i * words + words - 1];
    i + kLooksAtLast < size ? add(value) : add_variable(value);
  }
}

namespace {

constexpr std::size_t kLongestText = 512;             // limit for a name or a path, in characters
constexpr std::size_t kLongestLineTable = 256 << 10;  // bytes
constexpr std::uint32_t kMostHashed = 64;             // limit for the local variables of a frame
constexpr int kTries = 3;
constexpr std::size_t kOfTexts = 64;   // memory of two allocations, without their bytes
constexpr std::size_t kOfACode = 256;  // memory of a code object, without its texts

void append_utf8(std::string& text, std::uint32_t c) {
  const auto byte = [&](std::uint32_t value) { text += static_cast<char>(value); };
  if (c < 0x80) return byte(c);
  if (c < 0x800) {
    byte(0xc0 | c >> 6);
  } else if (c < 0x10000) {
    byte(0xe0 | c >> 12);
    byte(0x80 | (c >> 6 & 0x3f));
  } else {
    byte(0xf0 | (c >> 18 & 7));
    byte(0x80 | (c >> 12 & 0x3f));
    byte(0x80 | (c >> 6 & 0x3f));
  }
  byte(0x80 | (c & 0x3f));
}

class Interpreter {
 public:
  Interpreter(const ReadMemory& read, const PythonLayout& layout, Budget& budget)
      : read_(read), layout_(layout), budget_(budget) {}

  PythonStacks threads(std::uint64_t runtime) {
    PythonStacks found;
    const auto interpreter = value_at<std::uint64_t>(read_, runtime + layout_.first_interpreter);
    if (!interpreter || *interpreter == 0) {
      found.trouble = "the Python interpreter has not started, or has ended";
      return found;
    }
    auto thread = value_at<std::uint64_t>(read_, *interpreter + layout_.first_thread);
    while (thread && *thread != 0 && found.threads.size() < kMostThreads && !budget_.used_up()) {
      if (auto stack = whole_stack(*thread)) {
        found.threads.push_back(*std::move(stack));
      } else {
        found.trouble = "a stack changed while it was read";
      }
      thread = value_at<std::uint64_t>(read_, *thread + layout_.next_thread);
    }
    return found;
  }

 private:
  struct Code {
    Frame frame;  // the line is the first line of the function
    std::string line_table;
    std::uint32_t locals = 0;
  };

  /// A stack whose last frame has no predecessor. Gives up after three torn reads.
  std::optional<PythonThread> whole_stack(std::uint64_t thread) {
    std::optional<PythonThread> stack;
    for (int i = 0; i < kTries && !stack && !budget_.used_up(); ++i) stack = walk(thread);
    return stack;
  }

  std::optional<PythonThread> walk(std::uint64_t thread) {
    PythonThread stack;
    const auto id = native_id(thread);
    auto frame = value_at<std::uint64_t>(read_, thread + layout_.frame);
    if (frame && layout_.in_cframe) frame = value_at<std::uint64_t>(read_, *frame + layout_.frame_in_cframe);
    if (!id || !frame) return std::nullopt;
    stack.native_id = *id;
    ValueHash hash(read_, layout_);
    std::size_t shims = 0;
    while (*frame != 0 && stack.frames.size() < kMostFrames && shims < kMostFrames) {
      const auto of_python = is_of_python(*frame);
      if (!of_python) return std::nullopt;
      if (!*of_python) {
        ++shims;
      } else if (!add(*frame, stack, hash)) {
        return std::nullopt;
      }
      frame = value_at<std::uint64_t>(read_, *frame + layout_.previous);
      if (!frame) return std::nullopt;
    }
    if (!value_at<std::uint64_t>(read_, thread))
      return std::nullopt;  // the process is gone or the time is over: the hash is of a part
    stack.locals_hash = hash.value();
    return stack;
  }

  std::optional<std::uint64_t> native_id(std::uint64_t thread) const {
    const auto id = value_at<std::uint64_t>(read_, thread + layout_.native_thread_id);
    if (!id || !layout_.frame_objects) return id;
    return value_at<std::uint32_t>(read_, *id + kNumberInPthread).value_or(0);
  }

  std::optional<bool> is_of_python(std::uint64_t frame) const {
    if (layout_.frame_objects) return true;
    const auto owner = value_at<std::uint8_t>(read_, frame + layout_.owner);
    if (!owner) return std::nullopt;
    return *owner < layout_.first_c_owner;
  }

  /// In bytes from the first instruction; below 0: no instruction yet.
  std::optional<std::int64_t> instruction_of(std::uint64_t frame, std::uint64_t code) const {
    if (layout_.frame_objects) {
      const auto index = value_at<std::int32_t>(read_, frame + layout_.instruction);
      if (!index) return std::nullopt;
      return *index * static_cast<std::int64_t>(layout_.index_unit);
    }
    const auto address = value_at<std::uint64_t>(read_, frame + layout_.instruction);
    if (!address) return std::nullopt;
    return static_cast<std::int64_t>(*address - (code + layout_.instructions));
  }

  bool add(std::uint64_t at, PythonThread& stack, ValueHash& hash) {
    const auto pointer = value_at<std::uint64_t>(read_, at + layout_.code);
    const std::uint64_t address = pointer.value_or(0) & ~kPointerTag;
    const Code* code = pointer ? code_at(address) : nullptr;
    const auto instruction = code ? instruction_of(at, address) : std::nullopt;
    if (!instruction) return false;
    Frame frame = code->frame;
    if (*instruction >= 0) {
      if (!budget_.spend(code->line_table.size())) return false;
      frame.line = layout_.line_at(code->line_table, frame.line, static_cast<std::size_t>(*instruction));
    }
    hash.add(address);
    hash.add(static_cast<std::uint64_t>(*instruction));
    std::array<std::uint64_t, kMostHashed> locals{};
    const std::uint32_t count = std::min(code->locals, kMostHashed);
    if (!read_(at + layout_.locals, {reinterpret_cast<char*>(locals.data()), count * sizeof(std::uint64_t)}))
      return false;
    for (std::uint32_t i = 0; i < count; ++i) hash.add_variable(locals[i]);
    const auto names = value_at<std::uint64_t>(read_, at + layout_.names);
    if (names && *names != 0) hash.add_names(*names);
    if (!budget_.keep(2 * sizeof(Frame) + kOfTexts + frame.function.size() + frame.file.size())) return false;
    stack.frames.push_back(std::move(frame));
    return true;
  }

  /// Null: not a code object. All code objects have the type of the first one.
  const Code* code_at(std::uint64_t address) {
    if (const auto known = codes_.find(address); known != codes_.end()) return &known->second;
    const auto type = value_at<std::uint64_t>(read_, address + kObjectType);
    if (!type || *type == 0 || (code_type_ != 0 && *type != code_type_)) return nullptr;
    const auto file = text_at(address + layout_.file);
    const auto name = text_at(address + layout_.name);
    const auto line = value_at<std::int32_t>(read_, address + layout_.first_line);
    const auto locals = value_at<std::uint32_t>(read_, address + layout_.locals_count);
    const auto table = bytes_object_at(address + layout_.line_table);
    if (!file || !name || !line || !locals || !table) return nullptr;
    if (!budget_.keep(kOfACode + file->size() + name->size() + table->size())) return nullptr;
    code_type_ = *type;
    Code code{{*name, *file, *line}, *table, *locals};
    for (const std::uint64_t names : layout_.cell_names) {
      const auto tuple = names != 0 ? value_at<std::uint64_t>(read_, address + names) : std::nullopt;
      const auto count = tuple ? value_at<std::uint64_t>(read_, *tuple + kBytesSize) : std::nullopt;
      code.locals += static_cast<std::uint32_t>(std::min<std::uint64_t>(count.value_or(0), kMostHashed));
    }
    return &codes_.emplace(address, std::move(code)).first->second;
  }

  std::optional<std::string> bytes_object_at(std::uint64_t pointer) const {
    const auto object = value_at<std::uint64_t>(read_, pointer);
    const auto size = object ? value_at<std::uint64_t>(read_, *object + kBytesSize) : std::nullopt;
    if (!size) return std::nullopt;
    if (*size == 0 || *size > kLongestLineTable) return std::string();
    return bytes_at(read_, *object + kBytesData, *size);
  }

  /// A str: its state has the width of a character, and a flag for the short header before the text.
  std::optional<std::string> text_at(std::uint64_t pointer) const {
    const auto object = value_at<std::uint64_t>(read_, pointer);
    const auto length = object ? value_at<std::uint64_t>(read_, *object + kTextLength) : std::nullopt;
    const auto state = object ? value_at<std::uint32_t>(read_, *object + kTextState) : std::nullopt;
    if (!length || !state || (*state & 0x20) == 0) return std::nullopt;  // not compact
    const std::uint32_t width = *state >> 2 & 7;
    const std::size_t size = std::min<std::uint64_t>(*length, kLongestText);
    if (width != 1 && width != 2 && width != 4) return std::nullopt;
    const bool ascii = (*state & 0x40) != 0;
    const std::uint64_t data = ascii ? layout_.ascii_text : layout_.wide_text;
    std::string raw = bytes_at(read_, *object + data, size * width);
    if (raw.size() != size * width) return std::nullopt;
    if (ascii) return raw;
    std::string text;
    for (std::size_t i = 0; i < raw.size(); i += width) {
      std::uint32_t c = 0;
      for (std::uint32_t b = 0; b < width; ++b) c |= std::uint32_t{static_cast<unsigned char>(raw[i + b])} << (8 * b);
      append_utf8(text, c);
    }
    return text;
  }

  const ReadMemory& read_;
  const PythonLayout& layout_;
  Budget& budget_;
  std::map<std::uint64_t, Code> codes_;
  std::uint64_t code_type_ = 0;
};

}  // namespace

std::uint32_t find_python_version(const ReadMemory& read, const DynamicSymbols& symbols) {
  if (const auto told = symbols.find(read, "Py_Version")) return value_at<std::uint32_t>(read, *told).value_or(0);
  if (symbols.find(read, "PyIter_Send")) return 0x030a0000;
  if (symbols.find(read, "PyFrame_GetCode")) return 0x03090000;
  if (symbols.find(read, "PyCode_NewWithPosOnlyArgs")) return 0x03080000;
  return 0;
}

std::string python_version(std::uint32_t version) {
  return std::to_string(version >> 24) + '.' + std::to_string(version >> 16 & 0xff) + '.' +
         std::to_string(version >> 8 & 0xff);
}

PythonStacks read_python(const ReadMemory& read, std::uint64_t runtime, std::uint32_t version, Budget& budget) {
  const auto layout = layout_of(read, runtime, version);
  if (!layout) {
    const std::string which = version == 0 ? "a Python before 3.8" : "Python " + python_version(version);
    return {{}, "stacks of " + which + " are not supported: expected Python 3.8 to 3.14 with a GIL"};
  }
  return Interpreter(read, *layout, budget).threads(runtime);
}

}  // namespace dlaunch::stacks
