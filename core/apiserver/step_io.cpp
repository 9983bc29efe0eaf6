#include <thread>

#include "core/apiserver/apiserver_role.hpp"

namespace harena {
namespace {

std::size_t io_threads(const Config& config) {
  if (config.limits.io_threads > 0) return static_cast<std::size_t>(config.limits.io_threads);
  return std::max(1u, std::thread::hardware_concurrency());
}

}  // namespace

/// First to start and last to stop: idle connections to sandboxes belong to these loops, so the routes that keep them go
/// before. The loops end here and are destroyed with the role, since a worker thread may still post a result to one.
Step ApiserverRole::io_step() {
  return {"event loops",
          [this]() -> Status {
            io_ = std::make_unique<http::IoThreads>(io_threads(parts_.config));
            return ok_status();
          },
          [this] { io_->stop(); }};
}

}  // namespace harena
