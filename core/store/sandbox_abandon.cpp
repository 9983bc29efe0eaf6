// Undoing a create: the record and its key go together.
#include "core/store/keys.hpp"
#include "core/store/sandbox_repository.hpp"

namespace harena {

Status SandboxRepository::abandon(const CallContext& call, const Sandbox& sandbox) {
  std::vector<StateOp> ops{StateOp::remove(keys::sandbox(sandbox.id))};
  if (!sandbox.spec.idempotency_key.empty()) {
    ops.push_back(StateOp::remove(keys::idempotency(sandbox.spec.project, sandbox.spec.idempotency_key)));
  }
  auto revision = store_.txn(call, ops, Durability::process);
  forget(sandbox.id);
  if (!revision.ok()) return std::move(revision).error().during("undoing the create of " + sandbox.id.str());
  return ok_status();
}

}  // namespace harena
