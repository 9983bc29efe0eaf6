#pragma once
// What the state-store cases share.

#include <string>

#include "sdk/base/unique_fd.hpp"
#include "sdk/conformance/case.hpp"

namespace harena::conformance {

inline const std::string kStateStoreContract = HARENA_STATE_STORE_CONTRACT;

class StateStoreRun {
 public:
  explicit StateStoreRun(Context& c) : c_(c) { start(); }
  const StateStoreDriver* operator->() const { return &*driver_; }
  void restart() {
    driver_.reset();
    instance_.reset();
    start();
  }
  /// The revision; the case fails otherwise.
  std::int64_t put(std::string key, std::string value) {
    return c_.need(driver_->txn({put_value(std::move(key), std::move(value))}), "put");
  }
  /// "(absent)" when it is.
  std::string value_of(std::string_view key);

 private:
  void start() {
    instance_ = c_.instance();
    driver_.emplace(c_.need(StateStoreDriver::of(*instance_), "its functions"));
  }
  Context& c_;
  std::unique_ptr<loader::Instance> instance_;
  std::optional<StateStoreDriver> driver_;
};

}  // namespace harena::conformance
