#pragma once
// What must be so before a sandbox is claimed by its labels, or becomes somebody else's (SandboxUpdate::if_labels, owner).

#include "core/model/sandbox.hpp"
#include "sdk/base/result.hpp"

namespace harena {

/// failed_precondition names the first label that isn't as wanted, and what it is.
Status check_labels_are(const Sandbox& sandbox, const Labels& wanted);

/// failed_precondition for a sandbox that was made under an idempotency key: the key is its maker's, who may ask for it again.
Status check_can_be_given(const Sandbox& sandbox);

}  // namespace harena
