#pragma once
// Sandboxes for tests.

#include <string>

#include "core/model/sandbox.hpp"

namespace harena::testing_support {

/// Ids with the edge code "tst01", ordered by number.
inline SandboxId numbered_id(int number) {
  const std::string digits = std::to_string(number);
  return SandboxId::parse("tst01" + std::string(15 - digits.size(), '0') + digits).value();
}

inline Sandbox numbered_sandbox(int number, const std::string& idempotency_key = "") {
  Sandbox sandbox{.id = numbered_id(number)};
  sandbox.spec.backend = "container";
  sandbox.spec.image = "root/base:v1";
  sandbox.spec.idempotency_key = idempotency_key;
  sandbox.state = SandboxState::running;
  sandbox.created_by = "token:t";
  sandbox.created_ms = sandbox.changed_ms = 1'000;
  sandbox.backend_state = "opaque";
  return sandbox;
}

inline Sandbox ended(Sandbox sandbox, std::int64_t at_ms) {
  sandbox.state = SandboxState::stopped;
  sandbox.changed_ms = at_ms;
  return sandbox;
}

}  // namespace harena::testing_support
