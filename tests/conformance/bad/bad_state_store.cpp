// State stores in memory, with one thing wrong each, chosen at compile time by BAD.

#include <map>
#include <memory>
#include <mutex>

#include "sdk/cpp/plugin.hpp"

#define FORGETS_ON_RESTART 1
#define IGNORES_CHECKS 2
#define RANGES_BACKWARDS 3

namespace {

using namespace harena;
using namespace harena::plugin;

class BadStore final : public StateStorePlugin {
 public:
  static constexpr Info kInfo{.licence = "Apache-2.0", .config_schema = R"({"type":"object","additionalProperties":false})"};
  static Result<std::unique_ptr<BadStore>> make(const Call&, Host, const json&) { return std::make_unique<BadStore>(); }

  Result<std::int64_t> get(const Call& call, std::string_view key) override {
    std::lock_guard lock(mutex_);
    auto found = items_.find(key);
    if (found != items_.end()) HARENA_TRY_STATUS(call.emit(key, found->second.first, found->second.second));
    return revision_;
  }

  Result<std::int64_t> range(const Call& call, std::string_view start, std::string_view end, std::int64_t limit) override {
    std::lock_guard lock(mutex_);
    auto emit = [&](const auto& item) -> Status {
      if (item.first < start || (!end.empty() && item.first >= end) || limit-- <= 0) return ok_status();
      return call.emit(item.first, item.second.first, item.second.second);
    };
#if BAD == RANGES_BACKWARDS
    for (auto it = items_.rbegin(); it != items_.rend(); ++it) HARENA_TRY_STATUS(emit(*it));
#else
    for (const auto& item : items_) HARENA_TRY_STATUS(emit(item));
#endif
    return revision_;
  }

  Result<std::int64_t> txn(const Call&, std::span<const StateOp> ops) override {
    std::lock_guard lock(mutex_);
    for (const auto& op : ops) {
      auto found = items_.find(op.key);
      bool holds = op.kind != StateOp::Kind::check || (found == items_.end() ? 0 : found->second.second) == op.revision;
#if BAD == IGNORES_CHECKS
      holds = true;
#endif
      if (!holds) return make_error(ErrorCode::aborted, "key " + std::string(op.key) + " has another revision");
    }
    bool changed = false;
    for (const auto& op : ops) {
      if (op.kind == StateOp::Kind::put) items_[std::string(op.key)] = {std::string(op.value), revision_ + 1}, changed = true;
      if (op.kind == StateOp::Kind::remove && items_.erase(std::string(op.key)) > 0) changed = true;
    }
    if (changed) ++revision_;
    return revision_;
  }

  Status watch(const Call&, std::string_view, std::int64_t) override { return make_error(ErrorCode::unimplemented, "no watches"); }

 private:
  std::mutex mutex_;
  std::map<std::string, std::pair<std::string, std::int64_t>, std::less<>> items_;
  std::int64_t revision_ = 0;
};

}  // namespace

HARENA_PLUGIN(BadStore)
