#include "core/pluginhost/image_store_adapter.hpp"

#include <algorithm>

namespace harena {

using loader::Item;
using loader::to_abi;

namespace {

bool is_digest(std::string_view text) {
  constexpr std::string_view kPrefix = "sha256:";
  return text.size() == kPrefix.size() + 64 && text.starts_with(kPrefix) &&
         std::all_of(text.begin() + kPrefix.size(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

const std::string kNoDigest = "gave a digest that is not sha256: and 64 hexadecimal digits";

/// Why an item doesn't belong into a list; empty: it does.
std::string misplaced(const Item& item, std::string_view before, std::int64_t count, std::int64_t limit) {
  if (count >= limit) return "gave more than the " + std::to_string(limit) + " items that were asked for";
  return item.key > before ? "" : "gave keys out of order";
}

}  // namespace

Result<std::unique_ptr<ImageStoreAdapter>> ImageStoreAdapter::make(std::shared_ptr<const loader::Instance> instance) {
  HARENA_TRY(const auto table, instance->image_store());
  return std::unique_ptr<ImageStoreAdapter>(new ImageStoreAdapter(PluginCaller(std::move(instance)), table));
}

Result<StoredBlob> ImageStoreAdapter::put(const CallContext& call, const std::string& expected_digest,
                                          int borrowed_fd) {
  HARENA_TRY(const auto document, caller_.call(call, "put", [&](void* self, const harena_call* record) {
    return table_.put(self, record, to_abi(expected_digest), borrowed_fd);
  }));
  ResultReader read(caller_, "put", document);
  StoredBlob blob{read.string("digest"), read.integer("size", 0)};
  read.require(is_digest(blob.digest), kNoDigest);
  read.require(expected_digest.empty() || blob.digest == expected_digest, "stored another digest than the expected one");
  if (auto wrong = read.error()) return std::move(*wrong);
  return blob;
}

Result<OpenedBlob> ImageStoreAdapter::open(const CallContext& call, const std::string& digest) {
  HARENA_TRY(const auto document, caller_.call(call, "open", [&](void* self, const harena_call* record) {
    return table_.open(self, record, to_abi(digest));
  }));
  ResultReader read(caller_, "open", document);
  OpenedBlob blob{read.string("path"), read.integer("size", 0)};
  read.require(blob.path.starts_with('/'), "gave a path that isn't absolute");
  if (auto wrong = read.error()) return std::move(*wrong);
  return blob;
}

Result<std::vector<TagEntry>> ImageStoreAdapter::list(const CallContext& call, const std::string& prefix,
                                                      const std::string& cursor, std::int64_t limit) {
  std::vector<TagEntry> found;
  std::string problem;
  const auto collect = [&](const Item& item) {
    problem = misplaced(item, found.empty() ? cursor : found.back().reference, std::ssize(found), limit);
    if (!item.key.starts_with(prefix)) problem = "gave a reference outside the prefix";
    if (!is_digest(item.value)) problem = kNoDigest;
    if (problem.empty()) found.push_back({std::string(item.key), std::string(item.value)});
    return problem.empty();
  };
  const auto function = [&](void* self, const harena_call* record) {
    return table_.list(self, record, to_abi(prefix), to_abi(cursor), limit);
  };
  const auto done = caller_.call(call, "list", function, collect);
  if (!problem.empty()) return caller_.broken("list", problem);
  if (!done) return done.error();
  return found;
}

Result<std::string> ImageStoreAdapter::resolve(const CallContext& call, const std::string& reference) {
  HARENA_TRY(const auto document, caller_.call(call, "resolve", [&](void* self, const harena_call* record) {
    return table_.resolve(self, record, to_abi(reference));
  }));
  ResultReader read(caller_, "resolve", document);
  auto digest = read.string("digest");
  read.require(is_digest(digest), kNoDigest);
  if (auto wrong = read.error()) return std::move(*wrong);
  return digest;
}

Status ImageStoreAdapter::tag(const CallContext& call, const std::string& reference, const std::string& digest) {
  HARENA_TRY([[maybe_unused]] const auto none, caller_.call(call, "tag", [&](void* self, const harena_call* record) {
    return table_.tag(self, record, to_abi(reference), to_abi(digest));
  }));
  return ok_status();
}

Status ImageStoreAdapter::remove(const CallContext& call, const std::string& reference_or_digest) {
  HARENA_TRY([[maybe_unused]] const auto none, caller_.call(call, "remove", [&](void* self, const harena_call* record) {
    return table_.remove(self, record, to_abi(reference_or_digest));
  }));
  return ok_status();
}

Result<std::vector<StoredBlob>> ImageStoreAdapter::list_blobs(const CallContext& call, const std::string& cursor,
                                                              std::int64_t limit) {
  std::vector<StoredBlob> found;
  std::string problem;
  const auto collect = [&](const Item& item) {
    problem = misplaced(item, found.empty() ? cursor : found.back().digest, std::ssize(found), limit);
    if (!is_digest(item.key)) problem = kNoDigest;
    if (item.revision < 0) problem = "gave a negative size";
    if (problem.empty()) found.push_back({std::string(item.key), item.revision});
    return problem.empty();
  };
  const auto function = [&](void* self, const harena_call* record) {
    return table_.list_blobs(self, record, to_abi(cursor), limit);
  };
  const auto done = caller_.call(call, "list_blobs", function, collect);
  if (!problem.empty()) return caller_.broken("list_blobs", problem);
  if (!done) return done.error();
  return found;
}

Result<std::vector<std::string>> ImageStoreAdapter::check(const CallContext& call, const std::string& digest) {
  HARENA_TRY(const auto document, caller_.call(call, "check", [&](void* self, const harena_call* record) {
    return table_.check(self, record, to_abi(digest));
  }));
  ResultReader read(caller_, "check", document);
  auto damaged = read.strings("damaged");
  read.require(std::all_of(damaged.begin(), damaged.end(), is_digest), kNoDigest);
  if (auto wrong = read.error()) return std::move(*wrong);
  return damaged;
}

}  // namespace harena
