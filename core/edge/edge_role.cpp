#include "core/edge/edge_role.hpp"

#include <unistd.h>

#include <thread>

namespace harena {
namespace {

std::int64_t host_memory_bytes() {
  return static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
}

}  // namespace

EdgeRole::EdgeRole(EdgeParts parts) : parts_(std::move(parts)) {}
EdgeRole::~EdgeRole() = default;

void EdgeRole::add_steps(StepList& steps) {
  steps.add(folders_step());
  steps.add(plugins_step());
  steps.add(identity_step());
  steps.add(backends_step());
  steps.add(images_step());
  steps.add(sandboxes_step());
  steps.add(clockwork_step());
}

NodeView EdgeRole::view() const {
  const auto& edge = parts_.config.edge;
  NodeView view{.name = code_, .healthy = true};
  const auto cpus = static_cast<double>(std::thread::hardware_concurrency());
  view.capacity.sandboxes = edge.max_sandboxes;
  view.capacity.cpu_milli = static_cast<std::int64_t>(cpus * 1000 * edge.cpu_overcommit);
  view.capacity.memory_bytes = static_cast<std::int64_t>(static_cast<double>(host_memory_bytes()) * edge.memory_fraction);
  const auto used = iam_->quotas().used(ProjectPath::root());
  view.used = {used.sandboxes, used.cpu_milli, used.memory_bytes};
  std::lock_guard lock(probes_mutex_);
  for (const auto& [name, probe] : probes_) {
    if (probe.usable) {
      view.backends.insert(name);
    } else {
      view.unusable_backends[name] = probe.why_not.empty() ? "it doesn't say why" : probe.why_not.front();
    }
  }
  return view;
}

void EdgeRole::probe_backends() {
  for (const auto& [name, entry] : registry_.all()) {
    auto probe = entry.backend->probe({});
    BackendProbe found;
    if (probe.ok()) found = *std::move(probe);
    else found.why_not.push_back(probe.error().describe());
    std::lock_guard lock(probes_mutex_);
    probes_[name] = std::move(found);
  }
}

}  // namespace harena
