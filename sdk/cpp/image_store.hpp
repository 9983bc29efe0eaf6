#pragma once
// ImageStorePlugin: harena.image-store/1 for authors in C++; sdk/abi/image_store.h says what each function promises.

#include <cstdint>
#include <string>
#include <string_view>

#include "sdk/abi/image_store.h"
#include "sdk/cpp/guard.hpp"
#include "sdk/cpp/host.hpp"

namespace harena::plugin {

class ImageStorePlugin {
 public:
  static constexpr std::string_view kContract = HARENA_IMAGE_STORE_CONTRACT;
  virtual ~ImageStorePlugin() = default;

  /// [any] {"digest": "sha256:...", "size": n}. Durable, atomic, idempotent; `borrow_fd` stays the caller's.
  virtual Result<json> put(const Call& call, std::string_view expected_digest, int borrow_fd) = 0;
  /// [any] {"path": "/absolute", "size": n}; not_found names the digest.
  virtual Result<json> open(const Call& call, std::string_view digest) = 0;
  /// [any] call.emit(reference, digest) in the order of bytes, after `cursor`, at most `limit`.
  virtual Status list(const Call& call, std::string_view prefix, std::string_view cursor, std::int64_t limit) = 0;
  /// [any] {"digest": "..."}; not_found names the reference.
  virtual Result<json> resolve(const Call& call, std::string_view reference) = 0;
  /// [any] Atomic; not_found when the digest isn't stored.
  virtual Status tag(const Call& call, std::string_view reference, std::string_view digest) = 0;
  /// [any] Idempotent; failed_precondition for a blob that a tag names.
  virtual Status remove(const Call& call, std::string_view reference_or_digest) = 0;
  /// [any] call.emit(digest, "", size) for every blob after `cursor`.
  virtual Status list_blobs(const Call& call, std::string_view cursor, std::int64_t limit) = 0;
  /// [any] {"checked": n, "damaged": ["sha256:..."]}. Empty: all.
  virtual Result<json> check(const Call& call, std::string_view digest) = 0;
};

namespace detail {

template <class Instance>
struct ImageStoreThunks {
  static ImageStorePlugin& of(void* self) { return *static_cast<Instance*>(self)->image_store; }

  static harena_status put(void* self, const harena_call* raw, harena_str expected, int borrow_fd) {
    return guarded(raw, [&](const Call& call) { return of(self).put(call, to_view(expected), borrow_fd); });
  }
  static harena_status open(void* self, const harena_call* raw, harena_str digest) {
    return guarded(raw, [&](const Call& call) { return of(self).open(call, to_view(digest)); });
  }
  static harena_status list(void* self, const harena_call* raw, harena_str prefix, harena_str cursor,
                            std::int64_t limit) {
    return guarded(raw, [&](const Call& call) { return of(self).list(call, to_view(prefix), to_view(cursor), limit); });
  }
  static harena_status resolve(void* self, const harena_call* raw, harena_str reference) {
    return guarded(raw, [&](const Call& call) { return of(self).resolve(call, to_view(reference)); });
  }
  static harena_status tag(void* self, const harena_call* raw, harena_str reference, harena_str digest) {
    return guarded(raw, [&](const Call& call) { return of(self).tag(call, to_view(reference), to_view(digest)); });
  }
  static harena_status remove(void* self, const harena_call* raw, harena_str what) {
    return guarded(raw, [&](const Call& call) { return of(self).remove(call, to_view(what)); });
  }
  static harena_status list_blobs(void* self, const harena_call* raw, harena_str cursor, std::int64_t limit) {
    return guarded(raw, [&](const Call& call) { return of(self).list_blobs(call, to_view(cursor), limit); });
  }
  static harena_status check(void* self, const harena_call* raw, harena_str digest) {
    return guarded(raw, [&](const Call& call) { return of(self).check(call, to_view(digest)); });
  }
};

template <class Instance>
harena_image_store make_image_store_table() {
  using Thunks = ImageStoreThunks<Instance>;
  harena_image_store table{};
  table.struct_size = sizeof(table);
  table.put = &Thunks::put;
  table.open = &Thunks::open;
  table.list = &Thunks::list;
  table.resolve = &Thunks::resolve;
  table.tag = &Thunks::tag;
  table.remove = &Thunks::remove;
  table.list_blobs = &Thunks::list_blobs;
  table.check = &Thunks::check;
  return table;
}

}  // namespace detail
}  // namespace harena::plugin
