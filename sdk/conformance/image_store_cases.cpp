// Level 2, harena.image-store/1.

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <thread>

#include "sdk/conformance/image_kit.hpp"

namespace harena::conformance {
namespace {

const std::string kAbsent = "sha256:" + std::string(64, '0');
constexpr int kParallel = 32;

void put_and_open(Context& c) {
  ImageStoreRun run(c);
  for (std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{4096}, std::size_t{3'000'001}}) {
    std::string bytes = noise(size, size);
    std::string digest = run.put(bytes);
    run.need_blob(digest, bytes);
    struct stat st{};
    std::string path = c.need(run->open(digest), "open")["path"];
    c.require(::stat(path.c_str(), &st) == 0 && S_ISREG(st.st_mode), "the blob's file isn't a regular file");
    c.require((st.st_mode & 0222) == 0, "the blob's file is writable");
  }
}

void blobs_outlive_the_host(Context& c) {
  ImageStoreRun run(c);
  std::string digest = run.put("lasting");
  c.need(run->tag("r:v1", digest), "tag");
  run.restart();
  run.need_blob(digest, "lasting");
  c.require(c.need(run->resolve("r:v1"), "resolve")["digest"] == digest, "the tag names another digest after a restart");
}

void put_of_a_pipe(Context& c) {
  ImageStoreRun run(c);
  std::string bytes = noise(500'000, 7);
  int ends[2];
  c.require(::pipe2(ends, O_CLOEXEC) == 0, "making a pipe");
  UniqueFd in(ends[0]), out(ends[1]);
  std::thread writer([&] {
    for (std::size_t at = 0; at < bytes.size();) at += static_cast<std::size_t>(std::max<ssize_t>(::write(out.get(), bytes.data() + at, bytes.size() - at), 0));
    out.reset();
  });
  auto made = run->put("", in.get());
  writer.join();
  c.require(c.need(std::move(made), "put of a pipe")["digest"] == digest_of(bytes), "put of a pipe has another digest");
  run.need_blob(digest_of(bytes), bytes);
}

void put_is_idempotent(Context& c) {
  ImageStoreRun run(c);
  std::string digest = run.put("same");
  std::string path = c.need(run->open(digest), "open")["path"];
  struct stat before{}, after{};
  ::stat(path.c_str(), &before);
  run.put("same");
  ::stat(path.c_str(), &after);
  c.require(before.st_ino == after.st_ino && before.st_mtim.tv_nsec == after.st_mtim.tv_nsec, "a blob that was there was written again");
  c.require(c.need(run->list_blobs("", 10), "list_blobs").size() == 1, "one blob is listed more than once");
}

void put_checks_the_digest(Context& c) {
  ImageStoreRun run(c);
  UniqueFd file = file_of("these bytes");
  c.need_error(run->put(digest_of("other bytes"), file.get()), ErrorCode::data_loss, "put with another digest");
  c.need_error(run->open(digest_of("these bytes")), ErrorCode::not_found, "open of a blob whose put failed");
  c.need_error(run->open(digest_of("other bytes")), ErrorCode::not_found, "open of a digest whose put failed");
  c.require(c.need(run->list_blobs("", 10), "list_blobs").empty(), "a put that failed left a blob");
  ::lseek(file.get(), 0, SEEK_SET);
  c.need(run->put(digest_of("these bytes"), file.get()), "put with the right digest");
}

void put_borrows_its_descriptor(Context& c) {
  ImageStoreRun run(c);
  UniqueFd file = file_of("borrowed");
  c.need(run->put("", file.get()), "put");
  c.require(::fcntl(file.get(), F_GETFD) >= 0, "put closed the descriptor that it had borrowed");
}

void bad_digests(Context& c) {
  ImageStoreRun run(c);
  for (std::string digest : {std::string("sha256:zz"), std::string("sha256:") + std::string(64, 'A'), std::string("../../etc/passwd"),
                             std::string("sha256:../../../etc/passwd"), std::string("md5:abc"), std::string(64, '0'),
                             "sha256:" + std::string(63, '0'), "sha256:" + std::string(64, '0') + "/.."}) {
    c.need_error(run->open(digest), ErrorCode::invalid_argument, "open('" + digest + "')");
    c.need_error(run->tag("r", digest), ErrorCode::invalid_argument, "tag('r', '" + digest + "')");
    UniqueFd file = file_of("x");
    c.need_error(run->put(digest, file.get()), ErrorCode::invalid_argument, "put('" + digest + "')");
  }
}

void bad_references(Context& c) {
  ImageStoreRun run(c);
  std::string digest = run.put("x");
  for (std::string reference : {std::string(), std::string(513, 'r'), std::string("a\nb"), std::string("a\0b", 3), std::string("\xff\xfe")}) {
    c.need_error(run->tag(reference, digest), ErrorCode::invalid_argument, "tag of a reference of " + std::to_string(reference.size()) + " bytes");
  }
  for (std::string reference : {std::string(512, 'r'), std::string("../../x"), std::string("root/base:v1"), std::string("."), std::string("\xc3\xa4 b/%41")}) {
    c.need(run->tag(reference, digest), "tag of '" + reference.substr(0, 20) + "'");
    c.require(c.need(run->resolve(reference), "resolve")["digest"] == digest, "'" + reference.substr(0, 20) + "' names another digest");
  }
  c.require(c.need(run->list("", "", 100), "list").size() == 5, "not every reference is listed once");
}

void tags(Context& c) {
  ImageStoreRun run(c);
  std::string one = run.put("one"), two = run.put("two");
  c.need_error(run->resolve("r"), ErrorCode::not_found, "resolve of an unknown reference");
  c.need_error(run->tag("r", kAbsent), ErrorCode::not_found, "tag of a blob that isn't stored");
  c.need(run->tag("r", one), "tag");
  c.need(run->tag("r", two), "tag, replacing");
  c.require(c.need(run->resolve("r"), "resolve")["digest"] == two, "the reference names the blob that was replaced");
}

void removing(Context& c) {
  ImageStoreRun run(c);
  std::string digest = run.put("x");
  c.need(run->tag("r", digest), "tag");
  auto refused = c.need_error(run->remove(digest), ErrorCode::failed_precondition, "remove of a blob that a tag names");
  c.require(refused.message.find('r') != std::string::npos, "the error names no tag: " + refused.message);
  run.need_blob(digest, "x");
  for (int i = 0; i < 2; ++i) c.need(run->remove("r"), "remove of a reference, time " + std::to_string(i + 1));
  for (int i = 0; i < 2; ++i) c.need(run->remove(digest), "remove of a blob, time " + std::to_string(i + 1));
  c.need_error(run->open(digest), ErrorCode::not_found, "open of a removed blob");
  c.need_error(run->resolve("r"), ErrorCode::not_found, "resolve of a removed reference");
  run.put("x");
  run.need_blob(digest, "x");
}

void listing(Context& c) {
  ImageStoreRun run(c);
  std::string digest = run.put("x");
  std::vector<std::string> names = {"a/b:2", "a/b:1", "a:1", "b:1", "a/b:10"};
  for (const auto& name : names) c.need(run->tag(name, digest), "tag");
  std::ranges::sort(names);
  std::vector<std::string> found;
  for (std::string cursor;;) {
    auto page = c.need(run->list("", cursor, 2), "list");
    if (page.empty()) break;
    c.require(page.size() <= 2, "a page is longer than its limit");
    for (const auto& [name, named] : page) found.push_back(name), c.require(named == digest, "list names another digest");
    cursor = found.back();
    c.require(found.size() <= names.size(), "list repeats itself");
  }
  c.require(found == names, "list gives " + json(found).dump() + "; " + json(names).dump() + " is right");
  c.require(c.need(run->list("a/", "", 10), "list").size() == 3, "list by prefix is wrong");
  c.need_error(run->list("", "", 0), ErrorCode::invalid_argument, "list with limit 0");
  c.need_error(run->list("", "", 10'001), ErrorCode::invalid_argument, "list with limit 10001");
}

void listing_blobs(Context& c) {
  ImageStoreRun run(c);
  std::vector<std::pair<std::string, std::int64_t>> right;
  for (int i = 0; i < 7; ++i) right.emplace_back(run.put(noise(static_cast<std::size_t>(100 + i), 1)), 100 + i);
  std::ranges::sort(right);
  std::vector<std::pair<std::string, std::int64_t>> found;
  for (std::string cursor; found.size() <= right.size();) {
    auto page = c.need(run->list_blobs(cursor, 3), "list_blobs");
    if (page.empty()) break;
    std::ranges::copy(page, std::back_inserter(found));
    cursor = found.back().first;
  }
  std::ranges::sort(found);
  c.require(found == right, "list_blobs doesn't give every blob once with its size");
}

void check_finds_damage(Context& c) {
  ImageStoreRun run(c);
  std::string good = run.put("good"), bad = run.put("bad bytes");
  json checked = c.need(run->check(""), "check");
  c.require(checked.value("damaged", json()) == json::array() && checked.value("checked", 0) == 2, "check of a sound store says " + checked.dump());
  std::string path = c.need(run->open(bad), "open")["path"];
  ::chmod(path.c_str(), 0600);
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file || ::pwrite(file.get(), "X", 1, 0) != 1) c.skip("the blob's file can't be damaged for the test: " + path);
  file.reset();
  checked = c.need(run->check(""), "check");
  c.require(checked.value("damaged", json()) == json::array({bad}), "check of a damaged store says " + checked.dump());
  c.require(c.need(run->check(good), "check of one").value("damaged", json()) == json::array(), "check calls a sound blob damaged");
  c.need_error(run->check(kAbsent), ErrorCode::not_found, "check of a blob that isn't stored");
}

void parallel_puts(Context& c) {
  ImageStoreRun run(c);
  std::vector<std::string> failures(kParallel);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kParallel; ++i) {
    threads.emplace_back([&, i] {
      std::string bytes = noise(100'000, i % 8);  // four put the same
      UniqueFd file = file_of(bytes);
      auto made = run->put(digest_of(bytes), file.get());
      auto tagged = made.ok() ? run->tag("r" + std::to_string(i), digest_of(bytes)) : std::move(made);
      if (!tagged.ok()) failures[i] = tagged.error().describe();
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& failure : failures) c.require(failure.empty(), "32 puts at once: " + failure);
  c.require(c.need(run->list_blobs("", 100), "list_blobs").size() == 8, "8 different blobs aren't listed as 8");
  for (std::size_t i = 0; i < 8; ++i) run.need_blob(digest_of(noise(100'000, i)), noise(100'000, i));
}

void cancelled_and_late_put(Context& c) {
  ImageStoreRun run(c);
  UniqueFd file = file_of("never");
  c.need_error(run->put("", file.get(), {.cancelled = [] { return true; }}), ErrorCode::cancelled, "a cancelled put");
  ::lseek(file.get(), 0, SEEK_SET);
  c.need_error(run->put("", file.get(), {.deadline_ns = 1}), ErrorCode::deadline_exceeded, "a late put");
  c.require(c.need(run->list_blobs("", 10), "list_blobs").empty(), "a put that was cancelled left a blob");
}

}  // namespace

std::vector<Case> image_store_cases() {
  return {
      {"put_and_open", 2, kImageStoreContract, "what is put is what is opened, in a read-only regular file", put_and_open},
      {"blobs_outlive_the_host", 2, kImageStoreContract, "blobs and tags are there after a restart", blobs_outlive_the_host},
      {"put_of_a_pipe", 2, kImageStoreContract, "a pipe is read to its end", put_of_a_pipe},
      {"put_is_idempotent", 2, kImageStoreContract, "a blob that is there isn't written again", put_is_idempotent},
      {"put_checks_the_digest", 2, kImageStoreContract, "bytes of another digest are data_loss, and nothing is stored", put_checks_the_digest},
      {"put_borrows_its_descriptor", 2, kImageStoreContract, "the descriptor stays the caller's", put_borrows_its_descriptor},
      {"bad_digests", 2, kImageStoreContract, "what isn't a digest is invalid_argument and reaches no file", bad_digests},
      {"bad_references", 2, kImageStoreContract, "references are any UTF-8 of 1 to 512 bytes without control characters", bad_references},
      {"tags", 2, kImageStoreContract, "a tag names a stored blob and can be replaced", tags},
      {"removing", 2, kImageStoreContract, "remove is idempotent, and spares blobs that tags name", removing},
      {"listing", 2, kImageStoreContract, "list is ordered by bytes and goes on after a cursor", listing},
      {"listing_blobs", 2, kImageStoreContract, "list_blobs gives each blob once with its size", listing_blobs},
      {"check_finds_damage", 2, kImageStoreContract, "check names damaged blobs and no others", check_finds_damage},
      {"parallel_puts", 2, kImageStoreContract, "32 puts at once, some of the same bytes", parallel_puts},
      {"put_cancelled_and_late", 2, kImageStoreContract, "a put that was cancelled or is late stores nothing", cancelled_and_late_put},
  };
}

}  // namespace harena::conformance
