// A temporary directory for files that OpenSSH's own tools read, and a way to run those tools. Removed by the
// destructor.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

namespace dlaunch::transport::ssh {

class Temporary : public testing::Test {
 protected:
  Temporary() {
    std::string pattern = (std::filesystem::temp_directory_path() / "dlaunch-ssh-XXXXXX").string();
    dir_ = ::mkdtemp(pattern.data());
  }
  ~Temporary() override { std::filesystem::remove_all(dir_); }

  std::string path(const std::string& name) const { return (dir_ / name).string(); }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    std::filesystem::permissions(path(name), std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    return path(name);
  }

  static std::optional<std::string> read(const std::string& path) {
    std::ifstream file(path);
    if (!file) return std::nullopt;
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

  /// The stdout of a command, and whether it succeeded.
  struct HostOverrides {
    std::string text;
    bool ok = false;
  };
  static HostOverrides shell(const std::string& line) {
    HostOverrides said;
    FILE* const pipe = ::popen(line.c_str(), "r");
    for (int c; (c = std::fgetc(pipe)) != EOF;) said.text += static_cast<char>(c);
    said.ok = ::pclose(pipe) == 0;
    return said;
  }

 private:
  std::filesystem::path dir_;
};

}  // namespace dlaunch::transport::ssh
