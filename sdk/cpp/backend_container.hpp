#pragma once
// ContainerVerbs: harena.backend.container/1 for authors in C++, beside BackendPlugin. sdk/abi/backend_container.h says what the documents hold.

#include <string_view>

#include "sdk/abi/backend_container.h"
#include "sdk/cpp/guard.hpp"

namespace harena::plugin {

class ContainerVerbs {
 public:
  static constexpr std::string_view kContract = HARENA_BACKEND_CONTAINER_CONTRACT;
  virtual ~ContainerVerbs() = default;
  /// [task] All or nothing, idempotent. {"details": {...}}.
  virtual Result<json> resize(const Call& call, std::string_view sandbox_id, const json& request) = 0;
};

namespace detail {

/// The C functions over `Instance`, a struct with a member `container`.
template <class Instance>
harena_backend_container make_container_table() {
  harena_backend_container table{};
  table.struct_size = sizeof(table);
  table.resize = [](void* self, const harena_call* raw, harena_str id, harena_str request) {
    return guarded(raw, [&](const Call& call) -> Result<json> {
      HARENA_TRY(json document, parse_input(request, "the request of resize"));
      return static_cast<Instance*>(self)->container->resize(call, to_view(id), document);
    });
  };
  return table;
}

}  // namespace detail
}  // namespace harena::plugin
