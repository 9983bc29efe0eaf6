#pragma once
// Frontend: another protocol in front of the API; the C++ face of harena.frontend/1.

#include <string>
#include <vector>

#include "core/contracts/call.hpp"
#include "sdk/base/result.hpp"

namespace harena {

/// A value of one series.
struct FrontendSample {
  std::string name;
  std::string help;
  std::string type;  ///< "counter" or "gauge"
  std::vector<std::pair<std::string, std::string>> labels;
  double value = 0;
};

/// Thread-safe, blocking. Errors as in sdk/abi/frontend.h.
class Frontend {
 public:
  virtual ~Frontend() = default;
  /// The addresses on which it listens, "http://127.0.0.1:7400".
  virtual Result<std::vector<std::string>> start(const CallContext& call) = 0;
  /// Idempotent. What runs may end until the deadline of the call.
  virtual Status drain(const CallContext& call) = 0;
  /// Empty when it counts nothing. From memory.
  virtual Result<std::vector<FrontendSample>> metrics(const CallContext& call) = 0;
};

}  // namespace harena
