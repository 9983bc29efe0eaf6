#pragma once
// Bench: a manager with a memory store, a fake backend, a clock held in hand and folders of its own; can be "killed" and
// started again over the same store and machine.

#include <cstdlib>
#include <filesystem>
#include <memory>

#include "core/lifecycle/manager.hpp"
#include "core/lifecycle/testing/fake_backend.hpp"
#include "core/store/testing/memory_state_store.hpp"

namespace harena {

class NoImages final : public ImageResolver {
 public:
  Result<ImageStack> resolve(const CallContext&, const std::string&, const std::vector<std::string>&,
                             const std::vector<std::string>&) override {
    return ImageStack{};
  }
  Result<std::vector<LayerFile>> layers(const CallContext&, const std::vector<std::string>&) override {
    return std::vector<LayerFile>();
  }
};

class Bench {
 public:
  Bench() {
    char name[] = "/tmp/harena-lifecycle-XXXXXX";
    folder = ::mkdtemp(name);
    BackendEntry entry{.backend = &backend, .plugin_id = "test.fake", .plugin_version = "1"};
    entry.check_params = [](const nlohmann::json& params) -> Result<nlohmann::json> { return params; };
    (void)registry.add(std::move(entry));
    restart();
  }
  ~Bench() {
    manager.reset();  // its worker removes folders of sandboxes that have ended
    std::filesystem::remove_all(folder);
  }

  /// As after kill -9: all that was in memory is gone; recover() isn't called yet.
  void restart() {
    manager.reset();
    quotas = std::make_unique<QuotaLedger>();
    repository = std::make_unique<SandboxRepository>(store);
    snapshots = std::make_unique<SnapshotRepository>(store);
    events = std::make_unique<EventRepository>(store);
    LifecycleOptions options{.edge_code = "edge1", .run_dir = folder + "/run", .state_dir = folder + "/state"};
    options.admission = limits;
    options.host_room = [] { return HostRoom{INT64_MAX, INT64_MAX}; };
    manager = std::make_unique<SandboxManager>(
        options, LifecycleParts{.repository = *repository, .snapshots = *snapshots, .backends = registry, .images = images, .quotas = *quotas,
                                .clock = clock, .random = random,
                                .notice = [this](std::string, std::string text) { notices.push_back(text); },
                                .events = events.get()});
  }

  static CreateSpec spec(const std::string& json_text = "{}") {
    return *parse_create_spec("fake", nlohmann::json::parse(json_text));
  }
  /// Idle actions and ends, taken at once in this thread.
  void tick() {
    manager->tick([](std::function<void()> work) { work(); });
  }
  /// Folders of sandboxes, run and state together.
  std::size_t folders() const {
    manager->wait_removed();
    std::size_t count = 0;
    std::error_code ignored;
    for (const auto* part : {"/run/sandboxes", "/state/sandboxes"}) {
      for (const auto& entry : std::filesystem::directory_iterator(folder + part, ignored)) count += entry.exists();
    }
    return count;
  }

  std::string folder;
  AdmissionLimits limits;  ///< of the next restart
  MemoryStateStore store;
  FakeBackend backend;
  BackendRegistry registry;
  NoImages images;
  ManualClock clock;
  SeededRandom random{7};
  std::vector<std::string> notices;
  std::unique_ptr<QuotaLedger> quotas;
  std::unique_ptr<SandboxRepository> repository;
  std::unique_ptr<SnapshotRepository> snapshots;
  std::unique_ptr<EventRepository> events;
  std::unique_ptr<SandboxManager> manager;
};

}  // namespace harena
