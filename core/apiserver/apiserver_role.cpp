#include "core/apiserver/apiserver_role.hpp"

#include "core/api/routes.hpp"

namespace harena {

ApiserverRole::ApiserverRole(ApiserverParts parts) : parts_(std::move(parts)) {}
ApiserverRole::~ApiserverRole() = default;

void ApiserverRole::add_steps(StepList& steps) {
  steps.add(io_step());
  steps.add(routes_step());
  steps.add(listen_step());
  steps.add(frontends_step());
}

}  // namespace harena
