#include "core/edge/edge_role.hpp"

namespace harena {

Step EdgeRole::sandboxes_step() {
  return {"sandboxes",
          [this]() -> Status {
            const auto& config = parts_.config;
            LifecycleOptions options{.edge_code = code_, .run_dir = config.run_dir, .state_dir = config.state_dir};
            options.admission.max_sandboxes = config.edge.max_sandboxes;
            options.admission.promise = capacity();
            options.host_room = [folder = config.state_dir] { return read_host_room(folder); };
            repository_ = std::make_unique<SandboxRepository>(*store_);
            snapshots_ = std::make_unique<SnapshotRepository>(*store_);
            events_ = std::make_unique<EventRepository>(*store_);
            manager_ = std::make_unique<SandboxManager>(
                std::move(options), LifecycleParts{.repository = *repository_,
                                                   .snapshots = *snapshots_,
                                                   .backends = registry_,
                                                   .images = images_->catalog,
                                                   .quotas = iam_->quotas(),
                                                   .clock = parts_.clock,
                                                   .random = parts_.random,
                                                   .notice = parts_.notice,
                                                   .events = events_.get()});
            edge_ = std::make_unique<LocalEdge>(*manager_, *workers_);
            HARENA_TRY(const auto living, manager_->recover());
            if (living > 0) parts_.notice("info", std::to_string(living) + " sandboxes go on");
            iam_->set_sandbox_check([this](const ProjectPath& project) { return manager_->has_living_in(project); });
            return ok_status();
          },
          [this] {
            // Running sandboxes are left alone: that is what a restart is for. Calls under way end first, then what they left to be removed:
            // the backends, which the next steps end, have a part in it.
            workers_->wait();
            manager_->wait_removed();
            edge_.reset();
          }};
}

}  // namespace harena
