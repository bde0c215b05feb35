// This machine by its own agent, all other hosts by another way. Both must outlive it.
#pragma once

#include "transport/transport.h"

namespace dlaunch::transport {

class ByHost : public Transport {
 public:
  ByHost(Transport& here, Transport& elsewhere) : here_(here), elsewhere_(elsewhere) {}

  Result<Connection> open(const plan::Host& host) override { return (host.local ? here_ : elsewhere_).open(host); }
  void close() override {
    here_.close();
    elsewhere_.close();
  }

 private:
  Transport& here_;
  Transport& elsewhere_;
};

}  // namespace dlaunch::transport
