#pragma once
// What a sandbox uses at this moment, in envd's words.

#include <nlohmann/json.hpp>

#include "plugins/e2b/envd/envd_call.hpp"

namespace harena::e2b {

/// Two readings of the API's usage, `elapsed_ns` apart, and the sandbox's document, as envd's metrics. Pure.
nlohmann::json metrics_document(const nlohmann::json& before, const nlohmann::json& after, const nlohmann::json& sandbox,
                                std::int64_t elapsed_ns, std::int64_t now_s);
http::Task<Status> answer_metrics(EnvdCall& call);

}  // namespace harena::e2b
