// Parameters of backends, as far as the core understands them: what a change of them promises.
#include "core/model/sandbox.hpp"

namespace harena {

Resources resources_after(Resources promised, const nlohmann::json& change) {
  const Resources named = resources_of(change);
  if (change.contains("cpu")) promised.cpu_milli = named.cpu_milli;
  if (change.contains("memory") || change.contains("memory_bytes")) promised.memory_bytes = named.memory_bytes;
  return promised;
}

}  // namespace harena
