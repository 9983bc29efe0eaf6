#pragma once
// Daemon: the roles of one process, started in order, stopped backwards.

#include <memory>
#include <string>

#include "core/config/config.hpp"
#include "sdk/base/result.hpp"

namespace harena {

class Daemon {
 public:
  explicit Daemon(Config config);
  ~Daemon();

  /// Starts every role, tells systemd (sd_notify) and run_dir/harenad.json that it is ready, waits for SIGTERM or SIGINT,
  /// drains and stops. A second signal during the drain ends the process at once; running sandboxes go on either way.
  Status run_until_signal();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace harena
