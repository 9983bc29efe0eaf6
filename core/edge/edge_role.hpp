#pragma once
// EdgeRole: the part of harenad that owns this machine's sandboxes. Its start steps are declared here in their order,
// one file each.

#include <boost/asio/thread_pool.hpp>

#include <memory>
#include <string>
#include <thread>

#include "core/config/config.hpp"
#include "core/iam/iam_service.hpp"
#include "core/image/catalog.hpp"
#include "core/image/import.hpp"
#include "core/lifecycle/backend_registry.hpp"
#include "core/lifecycle/local_edge.hpp"
#include "core/lifecycle/manager.hpp"
#include "core/pluginhost/plugin_host.hpp"
#include "core/placement/placement.hpp"
#include "core/steps/steps.hpp"
#include "core/store/sandbox_repository.hpp"
#include "core/store/snapshot_repository.hpp"

namespace harena {

/// Where the role's notices go.
using Notice = std::function<void(std::string level, std::string message)>;

struct EdgeParts {
  const Config& config;
  Clock& clock;
  RandomSource& random;
  Notice notice;
  /// What plugins are offered beside log and events (HostServices::service); may be empty.
  std::function<const void*(const std::string& plugin, const std::string& id)> service = {};
};

/// The images of this machine and what imports them.
struct EdgeImages {
  EdgeImages(ImageStore& store, Clock& clock, std::unique_ptr<image::WorkFolder> folder);
  image::StoreGuard guard;
  image::PosixSpawner spawner;
  std::unique_ptr<image::WorkFolder> work;
  image::Catalog catalog;
  image::Importer importer;
};

/// Everything is built by the steps and torn down by their stops; accessors are valid in between.
class EdgeRole {
 public:
  explicit EdgeRole(EdgeParts parts);
  ~EdgeRole();

  void add_steps(StepList& steps);

  PluginHost& plugins() { return *plugins_; }
  StateStore& store() { return *store_; }
  IamService& iam() { return *iam_; }
  EdgeImages& images() { return *images_; }
  LocalEdge& edge() { return *edge_; }
  SandboxManager& manager() { return *manager_; }
  EventRepository& events() { return *events_; }
  boost::asio::thread_pool& workers() { return *workers_; }
  const std::string& code() const { return code_; }
  /// What this machine may promise.
  Resources capacity() const;
  /// This edge's row of the node table, from what it knows without asking anybody.
  NodeView view() const;
  /// Findings {"id","level","what","why","fix"}; asks every backend anew. [blocking]
  nlohmann::json doctor();

 private:
  Step folders_step();    // step_folders.cpp: state and run folders, the lock that keeps a second harenad out
  Step plugins_step();    // step_plugins.cpp: the enabled plugins, the state store, the edge's code
  Step identity_step();   // step_identity.cpp: projects and tokens, the admin token of a first start
  Step backends_step();   // step_backends.cpp: backends by name with their schemas
  Step images_step();     // step_images.cpp: the image store, imports
  Step sandboxes_step();  // step_sandboxes.cpp: the manager, recovery of what a crash left
  Step clockwork_step();  // step_clockwork.cpp: TTLs, purges, probes

  /// Asks every backend what this host lets it do.
  void probe_backends();

  EdgeParts parts_;
  UniqueFd lock_;
  std::unique_ptr<boost::asio::thread_pool> workers_;
  std::unique_ptr<PluginHost> plugins_;
  StateStore* store_ = nullptr;
  std::string code_;
  std::unique_ptr<IamService> iam_;
  BackendRegistry registry_;
  std::unique_ptr<EdgeImages> images_;
  std::unique_ptr<SandboxRepository> repository_;
  std::unique_ptr<SnapshotRepository> snapshots_;
  std::unique_ptr<EventRepository> events_;
  std::unique_ptr<SandboxManager> manager_;
  std::unique_ptr<LocalEdge> edge_;
  std::jthread clockwork_;
  mutable std::mutex probes_mutex_;
  std::map<std::string, BackendProbe> probes_;
};

}  // namespace harena
