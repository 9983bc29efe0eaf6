#pragma once
// Warmer: makes templates and machines that stand by, behind the answers: one at a time, and only while no create is being served.
//
// A machine that stands by is a clone of a template that has begun to run and stands still, its processes frozen. A create that finds one gives
// it its own name, entropy, clock and limits, and lets it go on. It belongs to this daemon: when that dies, it ends by itself, and the next sweep removes its groups. When nobody has made a
// sandbox for a while, those that stand by are ended.

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>

#include "plugins/microvm/parameters.hpp"
#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"
#include "sdk/support/process.hpp"

namespace harena::microvm {

/// A machine that stands by; whoever has it ends it or makes it a sandbox.
struct Spare {
  std::string name;  // of its groups and folders
  std::string key;   // of its template
  std::string vm_dir, run_dir;
  ProcessRef process;
  UniqueFd lifeline;
  std::uint32_t uid = 0;
};

/// What a template is made of, and for whom.
struct TemplateOrder {
  std::string key;
  json request;  // of the create that wanted it
  Parameters parameters;
};

/// Thread-safe.
class Warmer {
 public:
  using Check = std::function<Status()>;
  /// What is done, on the warmer's thread. They outlive it.
  struct Work {
    std::function<Status(const TemplateOrder&, const Check&)> make_template;
    std::function<Result<Spare>(const TemplateOrder&, const std::string& name, const Check&)> make_spare;
    std::function<void(Spare)> end_spare;
    std::function<void(const std::string& problem)> warn;
  };
  struct Limits {
    std::size_t ahead = 0;
    std::chrono::seconds idle;
  };
  Warmer(Work work, Limits limits);
  /// What is being made is called off, those that stand by are ended.
  ~Warmer();
  Warmer(const Warmer&) = delete;
  Warmer& operator=(const Warmer&) = delete;

  std::optional<Spare> take(const std::string& key);
  /// A create took `order`'s template: others will.
  void was_used(TemplateOrder order);
  /// A create would have: it is made soon. One that failed kMostFailures times isn't tried again by this daemon.
  void want(TemplateOrder order);
  /// The template is gone: who stands by with it ends.
  void forget(const std::string& key);
  /// Names of groups and folders that this daemon's templates and spares have; no sandbox id looks like one.
  std::string next_name();
  bool owns(const std::string& name) const { return name.starts_with(prefix_); }
  std::size_t waiting() const;
  /// Why the last thing couldn't be made; empty: it could.
  std::string problem() const;

  /// While one exists, nothing is made.
  class Serving {
   public:
    explicit Serving(Warmer& warmer);
    ~Serving();
    Serving(const Serving&) = delete;
    Serving& operator=(const Serving&) = delete;

   private:
    Warmer& warmer_;
  };

 private:
  static constexpr int kMostFailures = 3;
  void run();
  void step(std::unique_lock<std::mutex>& lock);
  void make_next_template(std::unique_lock<std::mutex>& lock);
  void make_next_spare(std::unique_lock<std::mutex>& lock);
  void end_one(std::unique_lock<std::mutex>& lock, std::deque<Spare>& from);
  bool wants_spare() const;
  bool idle() const;
  bool something_to_do() const;
  void failed(const std::string& what, const Error& why);
  Check until_the_end();

  const Work work_;
  const Limits limits_;
  const std::string prefix_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<TemplateOrder> orders_;
  std::optional<TemplateOrder> last_;  // whose template was used last
  std::deque<Spare> waiting_;
  std::deque<Spare> unwanted_;
  std::map<std::string, int> failures_;
  std::string problem_;
  std::uint64_t serial_ = 0;
  int serving_ = 0;
  bool ending_ = false;
  std::chrono::steady_clock::time_point last_create_{};
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace harena::microvm
