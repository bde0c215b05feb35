#include "app/say.h"

#include <cerrno>
#include <cstring>

#include "base/printable.h"

namespace dlaunch::app {

using Importance = output::StandardStreams::Importance;

int complain(output::StandardStreams& streams, const Error& error) {
  say(streams, to_text(error));
  return error.exit_code;
}

void tell_notes(output::StandardStreams& streams, const std::vector<std::string>& notes) {
  for (const std::string& text : notes) note(streams, text);
}

void say(output::StandardStreams& streams, const std::string& lines) { streams.say(Importance::needed, lines); }

void note(output::StandardStreams& streams, const std::string& text) {
  streams.say(Importance::note, message("note: ", text));
}

int print(output::StandardStreams& streams, const std::string& text, int exit_code) {
  output::FdWriter& out = streams.writer(output::Stream::out);
  out.write(text);
  if (out.error() == 0 || out.error() == EPIPE) return exit_code;
  return complain(streams, {"stdout", "cannot write", std::strerror(out.error()), "", kExitOutput});
}

}  // namespace dlaunch::app
