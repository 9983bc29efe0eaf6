#pragma once
// CallsUnderWay: the tool calls that run in this process, so that `notifications/cancelled`, which comes as a request of its own,
// finds them.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace harena::mcp {

/// One call. Thread-safe.
class CallUnderWay {
 public:
  bool cancelled() const;
  /// What a cancellation has to undo from now on: a target of the API that is deleted ("/v1/sandboxes/ID/commands/CID").
  void set_undo(std::string target);
  /// Cancelled from now on; what there is to undo, empty for nothing.
  std::string cancel();

 private:
  mutable std::mutex mutex_;
  bool cancelled_ = false;
  std::string undo_;
};

/// Thread-safe.
class CallsUnderWay {
 public:
  /// Listed until it is destroyed.
  class Entry {
   public:
    Entry(CallsUnderWay& owner, std::string key);
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    CallUnderWay& call() { return *call_; }

   private:
    CallsUnderWay& owner_;
    std::string key_;
    std::shared_ptr<CallUnderWay> call_ = std::make_shared<CallUnderWay>();
  };

  /// Null: none of that name runs (it may have ended, which the protocol allows).
  std::shared_ptr<CallUnderWay> find(const std::string& key) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<CallUnderWay>> calls_;
};

}  // namespace harena::mcp
