#include "core/lifecycle/handover.hpp"

namespace harena {

Status check_labels_are(const Sandbox& sandbox, const Labels& wanted) {
  for (const auto& [name, value] : wanted) {
    const auto found = sandbox.spec.labels.find(name);
    const bool there = found != sandbox.spec.labels.end();
    if (there && found->second == value) continue;
    return make_error(ErrorCode::failed_precondition, "sandbox " + sandbox.id.str() + ": its label '" + name + "' is " +
                                                          (there ? "'" + found->second + "'" : "absent") + ", and if_labels wants '" +
                                                          value + "'");
  }
  return ok_status();
}

Status check_can_be_given(const Sandbox& sandbox) {
  if (sandbox.spec.idempotency_key.empty()) return ok_status();
  const std::string why = " was made under an idempotency key, which stays its maker's; one made without can be given away";
  return make_error(ErrorCode::failed_precondition, "sandbox " + sandbox.id.str() + why);
}

}  // namespace harena
