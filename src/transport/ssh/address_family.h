// AddressFamily of ssh_config(5).
#pragma once

namespace dlaunch::transport::ssh {

enum class AddressFamily { any, inet, inet6 };

}  // namespace dlaunch::transport::ssh
