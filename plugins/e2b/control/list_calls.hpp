#pragma once
// Lists, metrics and logs of sandboxes.

#include "plugins/e2b/control/sandbox_calls.hpp"

namespace harena::e2b {

AnswerTask list_sandboxes_v2(ControlCall& call);
AnswerTask list_sandboxes_v1(ControlCall& call);
AnswerTask sandbox_metrics(ControlCall& call);
AnswerTask metrics_of_sandboxes(ControlCall& call);
AnswerTask sandbox_logs_v1(ControlCall& call);
AnswerTask sandbox_logs_v2(ControlCall& call);

}  // namespace harena::e2b
