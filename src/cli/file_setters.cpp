// Setters of the options for files with the ranks' output.
#include "base/try.h"
#include "cli/setters.h"
#include "cli/values.h"
#include "output/file_layout.h"

namespace dlaunch::cli {
namespace {

using std::string_view;
using Context = const ProcessContext&;

// Suffixes of the names in --stdout-file and --stderr-file.
constexpr string_view kCopy = ":copy";
constexpr string_view kAppend = ":append";
constexpr string_view kLocal = ":local=";

/// Removes `mark` from the end of `value`. Returns false if `value` does not end with `mark`.
bool take_mark(string_view& value, string_view mark) {
  if (!value.ends_with(mark)) return false;
  value.remove_suffix(mark.size());
  return true;
}

}  // namespace

Result<void> set_files(Options& o, string_view value, Context here) {
  auto files = TRY(file_settings(value, here.cwd));
  o.output.files = std::move(files);
  return passed(output::check_file_template(o.output.files->target));
}

Result<void> set_stream_file(Options& o, output::Stream stream, string_view value, Context here) {
  if (!o.output.files)
    o.output.files = output::FileSettings{.target = "", .copy = false, .by_stream = true, .err_target = ""};
  const bool out = stream == output::Stream::out;
  std::string& target = out ? o.output.files->target : o.output.files->err_target;
  bool& copy = out ? o.output.files->copy : o.output.files->copy_err;
  bool& append = out ? o.output.files->append : o.output.files->append_err;
  copy = take_mark(value, kCopy);
  append = take_mark(value, kAppend);
  copy = copy || take_mark(value, kCopy);  // in either order
  auto& local = out ? o.output.files->local : o.output.files->local_err;
  local.reset();
  if (const size_t at = value.rfind(kLocal); at != value.npos) {
    local = TRY(rank_list(value.substr(at + kLocal.size())));
    value = value.substr(0, at);
  }
  TRY(put(target, absolute_path(value, here.cwd)));
  return passed(output::check_file_template(target));
}

Result<void> set_error_file(Options& o, string_view value, Context here) {
  TRY(put(o.error_file, absolute_path(value, here.cwd)));
  return passed(output::check_file_template(o.error_file));
}

}  // namespace dlaunch::cli
