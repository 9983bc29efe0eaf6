// Level 2, harena.image-store/1: kill -9 within put and tag.

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

#include "sdk/conformance/image_kit.hpp"
#include "sdk/conformance/runner.hpp"

namespace harena::conformance {
namespace {

constexpr std::size_t kBlobBytes = 8 * 1024 * 1024;

void kill_host_at(Context& c, std::chrono::microseconds delay, const std::function<void()>& body) {
  auto about_to = c.tmp() / "about";
  std::filesystem::remove(about_to);
  Child host([&]() -> json {
    body();
    for (;;) ::pause();
  });
  host.wait_for(about_to);
  std::this_thread::sleep_for(delay);  // the moment is what is tried
  host.kill_hard();
  host.wait();
}

// In a process of its own, as the case may fork only while it has no instance.
void in_next_host(Context& c, const std::function<void(ImageStoreRun&)>& body) {
  Child host([&]() -> json {
    ImageStoreRun run(c);
    body(run);
    return nullptr;
  });
  auto end = host.wait();
  if (end.signal != 0) c.fail("the next host was ended by signal " + std::to_string(end.signal));
  c.require(end.failure.empty(), end.failure);
}

void kill_within_put(Context& c) {
  std::string bytes = noise(kBlobBytes, 42), digest = digest_of(bytes);
  for (int us : {0, 500, 1000, 2000, 5000, 10000, 20000, 40000}) {
    kill_host_at(c, std::chrono::microseconds(us), [&] {
      ImageStoreRun run(c);
      std::ofstream(c.tmp() / "about") << "x";
      run.put(bytes);
    });
    in_next_host(c, [&](ImageStoreRun& run) {
      auto opened = run->open(digest);
      if (opened.ok()) run.need_blob(digest, bytes);
      else c.need_error(std::move(opened), ErrorCode::not_found, "open after a put that was killed");
      json checked = c.need(run->check(""), "check");
      c.require(checked.value("damaged", json()) == json::array(), "a put that was killed left a damaged blob: " + checked.dump());
      run.put(bytes);
      run.need_blob(digest, bytes);
      c.need(run->remove(digest), "remove");
    });
  }
}

void kill_within_tag(Context& c) {
  std::string one, two;
  in_next_host(c, [&](ImageStoreRun& run) { run.put("one"), run.put("two"); });
  one = digest_of("one"), two = digest_of("two");
  for (int us : {0, 500, 1000, 3000, 10000}) {
    kill_host_at(c, std::chrono::microseconds(us), [&] {
      ImageStoreRun run(c);
      c.need(run->tag("r", one), "tag");
      std::ofstream(c.tmp() / "about") << "x";
      for (int i = 0;; ++i) c.need(run->tag("r", i % 2 == 0 ? two : one), "tag");
    });
    in_next_host(c, [&](ImageStoreRun& run) {
      std::string named = c.need(run->resolve("r"), "resolve after a tag that was killed").value("digest", "");
      c.require(named == one || named == two, "after a tag that was killed the reference names '" + named + "'");
      c.require(c.need(run->list("", "", 100), "list").size() == 1, "a tag that was killed left another reference");
    });
  }
}

}  // namespace

std::vector<Case> image_store_crash_cases() {
  return {
      {"kill_within_put", 2, kImageStoreContract, "kill -9 within put leaves the whole blob or none", kill_within_put, 240},
      {"kill_within_tag", 2, kImageStoreContract, "kill -9 within tag leaves the old name or the new one", kill_within_tag, 120},
  };
}

}  // namespace harena::conformance
