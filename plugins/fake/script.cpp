#include "plugins/fake/script.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "sdk/base/unique_fd.hpp"

namespace harena::fake {
namespace {

// How often a call looks whether its caller has given up: the contract has no wake-up, only a question.
constexpr std::chrono::milliseconds kPollInterval{5};

Error scripted(const json& error) {
  Error made = make_error(*error_code_from_string(error.at("code").get<std::string>()), error.value("message", "scripted failure"));
  made.cause = cause_from_string(error.value("cause", "none")).value_or(Cause::none);
  made.cause_detail = error.value("cause_detail", "");
  made.retry = retry_from_string(error.value("retry", "never")).value_or(Retry::never);
  return made;
}

// The number of earlier calls, and one more from now on: the length of a file that is only appended to.
std::int64_t count_up(const std::filesystem::path& path) {
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!fd || ::write(fd.get(), "x", 1) != 1) return 0;
  return ::lseek(fd.get(), 0, SEEK_CUR) - 1;
}

}  // namespace

Status wait_for(const Call& call, std::int64_t delay_ms, bool deaf) {
  auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(delay_ms);
  while (std::chrono::steady_clock::now() < end) {
    if (!deaf) HARENA_TRY_STATUS(call.check());
    auto left = end - std::chrono::steady_clock::now();
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(left, kPollInterval));
  }
  return ok_status();
}

bool Script::applies(const json& rule, std::size_t index) const {
  auto skip = rule.value("skip", std::int64_t{0}), times = rule.value("times", std::int64_t{0});
  if (skip == 0 && times == 0) return true;
  auto before = count_up(counts_ / (owner_ + "." + std::to_string(index)));
  return before >= skip && (times == 0 || before < skip + times);
}

Status Script::play(const Call& call, std::string_view verb, std::string_view when) const {
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    const json& rule = rules_[i];
    if (rule.at("verb") != verb || rule.value("when", "before") != when || !applies(rule, i)) continue;
    HARENA_TRY_STATUS(wait_for(call, rule.value("delay_ms", std::int64_t{0}), rule.value("deaf", false)));
    if (rule.value("crash", false)) std::abort();
    if (rule.value("throws", false)) throw std::runtime_error("scripted exception");
    if (rule.contains("error")) return scripted(rule["error"]);
    return ok_status();
  }
  return ok_status();
}

}  // namespace harena::fake
