#pragma once
// WarmPool: sandboxes of one template that are ready before anybody asks for them, their start command running.
//
// A member is an ordinary sandbox, made with the operator's token (Settings::warm_token_file) in that token's project: its quotas and
// permissions apply until a create claims it. The claim is one PATCH: under the condition that the label says "ready", which one of several
// claims gets, it becomes the caller's (`give_to`): his project, his quotas, his key as its creator, his labels, metadata and times. So it
// is never handed out twice, and from then on nothing tells it from one that he made himself.
//
// Nothing is kept outside of the members' labels: a new process, or another replica, finds those that are ready. Their lifetime is
// kWarmLeaseSeconds and prolonged as long as somebody keeps the pool; what nobody keeps (of a replica that died, half made, of a template
// that was configured otherwise) ends by itself.

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "plugins/e2b/control/create_request.hpp"
#include "plugins/e2b/control/sandbox_store.hpp"
#include "plugins/e2b/warm/shelf.hpp"

namespace harena::e2b {

inline constexpr std::int64_t kWarmLeaseSeconds = 180;

/// Thread-safe but for round(), which one coroutine calls.
class WarmPool {
 public:
  /// Borrows both, which outlive all requests.
  WarmPool(Services& services, const Template& from);

  /// A ready sandbox that is the caller's now; nullopt: make one, whether there is none or he may not have it (a create says why).
  http::Task<std::optional<Record>> claim(CreateRequest request, std::string caller);
  /// Looks at the members, prolongs them, ends those that are unwell or too many and makes those that are missing, one after the other.
  /// The first error ends it. `stopping` is asked between its steps.
  http::Task<Status> round(std::function<bool()> stopping);
  bool is_full() const { return shelf_.size() >= from_.warm; }
  const std::string& template_id() const { return from_.id; }

 private:
  http::Task<Result<std::vector<std::string>>> look_after_members();
  http::Task<bool> look_after(nlohmann::json member);
  http::Task<Status> add_one();
  http::Task<Status> make_ready(std::string id);
  /// Only if it is still ready: nobody's sandbox is ended that a create has claimed meanwhile.
  http::Task<void> retire(std::string id);
  http::Task<Result<nlohmann::json>> change(std::string id, nlohmann::json changes);
  nlohmann::json member_body(const std::string& project) const;
  Status read_token();
  std::string token() const;
  void tell() { services_.counters.warm_ready(from_.id, shelf_.size()); }

  Services& services_;
  const Template& from_;
  const std::string name_;  ///< of this form of the template
  Shelf shelf_;
  mutable std::mutex token_mutex_;
  std::string token_;
};

}  // namespace harena::e2b
