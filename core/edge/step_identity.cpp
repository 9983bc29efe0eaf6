#include "core/edge/edge_role.hpp"

namespace harena {

Step EdgeRole::identity_step() {
  return {"identity",
          [this]() -> Status {
            iam_ = std::make_unique<IamService>(*store_, parts_.clock, parts_.random);
            const auto file = parts_.config.state_dir + "/admin.token";
            HARENA_TRY(const auto outcome, iam_->start({}, file));
            if (outcome.kind != BootstrapOutcome::Kind::done_before) {
              parts_.notice("info", "the admin token is in " + file + " (mode 0600)");
            }
            return ok_status();
          },
          [this] { iam_.reset(); }};
}

}  // namespace harena
