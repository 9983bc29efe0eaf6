// imagestore-local as a plugin: harena.image-store/1 on LocalStore.

#include <utility>

#include "plugins/imagestore-local/local_store.hpp"
#include "sdk/cpp/plugin.hpp"

namespace harena::imagestore {
namespace {

using plugin::Call;
using plugin::Host;
using plugin::json;

/// As in sdk/abi/image_store.h.
constexpr std::int64_t kMaxListLimit = 10'000;

Result<std::size_t> list_limit(std::int64_t limit) {
  if (limit >= 1 && limit <= kMaxListLimit) return static_cast<std::size_t>(limit);
  return make_error(ErrorCode::invalid_argument, "limit is " + std::to_string(limit) + "; it must be from 1 to 10000");
}

class LocalImageStore final : public plugin::ImageStorePlugin {
 public:
  static constexpr plugin::Info kInfo{
      .licence = "Apache-2.0",
      .config_schema = R"({"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
"additionalProperties":false,"properties":{"root":{"type":"string","pattern":"^/","minLength":2,"maxLength":2048,
"default":"/var/lib/harena/images","description":"Folder of the store: absolute, on a local file system, used by no other process."}}})"};

  static Result<std::unique_ptr<LocalImageStore>> make(const Call&, Host host, const json& config) {
    HARENA_TRY(auto store, LocalStore::open(config.value("root", "/var/lib/harena/images")));
    for (const auto& file : store->damaged_tags()) {
      host.warning("image store: '" + file + "' isn't a tag; it was left alone");
    }
    return std::make_unique<LocalImageStore>(std::move(store));
  }
  explicit LocalImageStore(std::unique_ptr<LocalStore> store) : store_(std::move(store)) {}

  Result<json> put(const Call& call, std::string_view expected_digest, int borrow_fd) override {
    HARENA_TRY(const auto blob, store_->put(expected_digest, borrow_fd, [&] { return call.check(); }));
    return json{{"digest", blob.digest}, {"size", blob.size}};
  }

  Result<json> open(const Call&, std::string_view digest) override {
    HARENA_TRY(const auto blob, store_->stat(digest));
    return json{{"path", store_->path_of(digest)}, {"size", blob.size}};
  }

  Status list(const Call& call, std::string_view prefix, std::string_view cursor, std::int64_t limit) override {
    HARENA_TRY(const auto count, list_limit(limit));
    for (const auto& tag : store_->list(prefix, cursor, count)) {
      HARENA_TRY_STATUS(call.emit(tag.reference, tag.digest));
    }
    return ok_status();
  }

  Result<json> resolve(const Call&, std::string_view reference) override {
    HARENA_TRY(const auto digest, store_->resolve(reference));
    return json{{"digest", digest}};
  }

  Status tag(const Call&, std::string_view reference, std::string_view digest) override {
    return store_->tag(reference, digest);
  }

  Status remove(const Call&, std::string_view reference_or_digest) override {
    return store_->remove(reference_or_digest);
  }

  Status list_blobs(const Call& call, std::string_view cursor, std::int64_t limit) override {
    HARENA_TRY(const auto count, list_limit(limit));
    HARENA_TRY(const auto blobs, store_->list_blobs(cursor, count));
    for (const auto& blob : blobs) HARENA_TRY_STATUS(call.emit(blob.digest, "", blob.size));
    return ok_status();
  }

  Result<json> check(const Call& call, std::string_view digest) override {
    Findings findings;
    if (!digest.empty()) {
      HARENA_TRY_STATUS(check_one(call, std::string(digest), findings));
    } else {
      HARENA_TRY_STATUS(check_all(call, findings));
    }
    return json{{"checked", findings.checked}, {"damaged", findings.damaged}};
  }

 private:
  struct Findings {
    std::int64_t checked = 0;
    std::vector<std::string> damaged;
  };

  Status check_one(const Call& call, const std::string& digest, Findings& findings) {
    HARENA_TRY(const bool whole, store_->check(digest, [&] { return call.check(); }));
    ++findings.checked;
    if (!whole) findings.damaged.push_back(digest);
    return ok_status();
  }

  Status check_all(const Call& call, Findings& findings) {
    HARENA_TRY(const auto blobs, store_->list_blobs("", SIZE_MAX));
    for (const auto& blob : blobs) {
      const auto checked = check_one(call, blob.digest, findings);
      if (!checked && checked.error().code != ErrorCode::not_found) return checked.error();  // removed meanwhile
      call.progress({{"stage", "check"}, {"done", findings.checked}, {"total", blobs.size()}});
    }
    return ok_status();
  }

  std::unique_ptr<LocalStore> store_;
};

}  // namespace
}  // namespace harena::imagestore

HARENA_PLUGIN(harena::imagestore::LocalImageStore)
