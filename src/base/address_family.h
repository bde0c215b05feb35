// AddressFamily of ssh_config(5).
#pragma once

namespace dlaunch {

enum class AddressFamily { any, inet, inet6 };

}  // namespace dlaunch
