#pragma once
// Snapshots and forks: what the backend offers.

#include "plugins/e2b/control/sandbox_calls.hpp"

namespace harena::e2b {

AnswerTask fork_sandbox(ControlCall& call);
AnswerTask snapshot_sandbox(ControlCall& call);
AnswerTask list_snapshots(ControlCall& call);

}  // namespace harena::e2b
