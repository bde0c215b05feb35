// Setters of the options for files with the ranks' output.
#include "base/try.h"
#include "cli/setters.h"
#include "cli/values.h"
#include "output/file_layout.h"

namespace dlaunch::cli {
namespace {

using std::string_view;
using Context = const ProcessContext&;

constexpr string_view kLocal = "local=";

Result<void> check_file(const std::string& target) {
  if (target.ends_with('/')) return missing_value("file name after the last '/'", "a name such as 'logs/{rank}.log'");
  return passed(output::check_file_template(target));
}

bool is_suffix(string_view text) { return text.starts_with(kLocal) || looks_like_directive(text); }

}  // namespace

Result<void> set_files(Options& o, string_view value, Context here) {
  auto files = TRY(file_settings(value, here.cwd));
  o.output.files = std::move(files);
  const std::string& target = o.output.files->target;
  return output::is_template(target) ? check_file(target) : Result<void>();
}

Result<void> set_stream_file(Options& o, output::Stream stream, string_view value, Context here) {
  if (!o.output.files)
    o.output.files = output::FileSettings{.target = "", .copy = false, .by_stream = true, .err_target = ""};
  const bool out = stream == output::Stream::out;
  std::string& target = out ? o.output.files->target : o.output.files->err_target;
  bool& copy = out ? o.output.files->copy : o.output.files->copy_err;
  bool& append = out ? o.output.files->append : o.output.files->append_err;
  auto& local = out ? o.output.files->local : o.output.files->local_err;
  copy = append = false;
  local.reset();
  const auto ends_name = [&] { return value.ends_with(':') && value.find(':') + 1 < value.size(); };
  while (!ends_name()) {
    const auto suffix = take_suffix(value, is_suffix);
    if (!suffix) break;
    if (suffix->starts_with(kLocal) && local) {
      return fail({.where = "",
                   .what = "duplicate suffix \"local\"",
                   .why = "",
                   .hint = "write all local ranks in one list, such as :local=0,1"});
    }
    if (suffix->starts_with(kLocal)) {
      local = TRY(rank_list(suffix->substr(kLocal.size())));
    } else if (*suffix == "copy") {
      copy = true;
    } else if (*suffix == "append") {
      append = true;
    } else {
      return bad_value(*suffix, "suffix", "append, copy or local=LIST after ':'", "remove the ':' from the file name");
    }
  }
  if (ends_name()) value.remove_suffix(1);  // "a:copy:" is the name "a:copy"
  TRY(put(target, absolute_path(value, here.cwd)));
  return check_file(target);
}

Result<void> set_error_file(Options& o, string_view value, Context here) {
  TRY(put(o.error_file, absolute_path(value, here.cwd)));
  return check_file(o.error_file);
}

}  // namespace dlaunch::cli
