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

Resources EdgeRole::capacity() const {
  const auto& edge = parts_.config.edge;
  const auto cpus = static_cast<double>(std::thread::hardware_concurrency());
  return {static_cast<std::int64_t>(cpus * 1000 * edge.cpu_overcommit),
          static_cast<std::int64_t>(static_cast<double>(host_memory_bytes()) * edge.memory_fraction)};
}

NodeView EdgeRole::view() const {
  const auto& edge = parts_.config.edge;
  NodeView view{.name = code_, .healthy = true};
  const Resources promise = capacity();
  view.capacity = {edge.max_sandboxes, promise.cpu_milli, promise.memory_bytes};
  const Resources promised = manager_->promised();
  view.used = {static_cast<std::int64_t>(manager_->living()), promised.cpu_milli, promised.memory_bytes};
  std::lock_guard lock(probes_mutex_);
  for (const auto& [name, probe] : probes_) {
    const auto labels = probe.facts.value("labels", nlohmann::json::object());  // named: items() doesn't keep it
    for (const auto& [key, value] : labels.items()) {
      if (value.is_string()) view.labels[name + "." + key] = value.get<std::string>();
    }
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
