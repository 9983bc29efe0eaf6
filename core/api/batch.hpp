#pragma once
// Batched creates: many requests in, one NDJSON line out as each is ready, whatever their order.

#include <vector>

#include "core/api/call.hpp"
#include "core/api/services.hpp"

namespace harena {

inline constexpr std::size_t kMaxBatch = 10'000;
/// Creates of one batch that are under way at once: enough to keep every worker thread busy, few enough that a batch
/// of 10,000 leaves room for others.
inline constexpr std::size_t kBatchWindow = 64;

/// `requests` from {"requests": [...]} or {"count": N, "request": {...}}. With a key in the one request, each copy has
/// it with "-0", "-1" ... appended, so that the whole batch can be repeated. invalid_argument for anything else.
Result<std::vector<nlohmann::json>> parse_batch(const nlohmann::json& body);

/// Streams the answer. A client that goes away cancels creates that haven't begun; those under way end, and what they
/// made is found under their keys.
http::Task<Result<Reply>> run_batch(ApiServices& services, ApiCall& call, std::vector<nlohmann::json> requests);

}  // namespace harena
