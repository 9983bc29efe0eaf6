#include "core/cli/transfer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <optional>
#include <thread>
#include <vector>

#include "core/cli/local_target.hpp"
#include "core/cli/local_tree.hpp"
#include "core/cli/print.hpp"

namespace harena::cli {

using client::Files;
using client::FileStat;

namespace {

std::string below(const std::string& folder, const std::string& relative) {
  return (folder.ends_with('/') ? folder : folder + "/") + relative;
}

Result<Files::Source> source_of(const std::string& path, TransferMeter& meter) {
  // NONBLOCK: should a FIFO have taken the file's place since it was looked at, opening it mustn't hang.
  auto file = std::make_shared<UniqueFd>(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!*file) return errno_error(errno, path);
  return Files::Source([file, path, &meter](char* buffer, std::size_t size) -> Result<std::size_t> {
    const auto count = ::read(file->get(), buffer, size);
    if (count < 0) return errno_error(errno, path);
    meter.add_bytes(count);
    return static_cast<std::size_t>(count);
  });
}

Status send_file(const TransferPlan& plan, client::Client& client, const LocalEntry& entry, const std::string& target) {
  HARENA_TRY_STATUS(Files(client, plan.sandbox).write(target, entry.mode, [&] { return source_of(entry.path, plan.meter); }));
  plan.meter.add_file();
  return {};
}

Status receive_file(const TransferPlan& plan, client::Client& client, const FileStat& source,
                    Result<std::unique_ptr<PendingFile>> created) {
  HARENA_TRY(const auto pending, std::move(created));
  HARENA_TRY_STATUS(Files(client, plan.sandbox).read(source.path, [&](std::string_view bytes) {
    plan.meter.add_bytes(static_cast<std::int64_t>(bytes.size()));
    return pending->write(bytes);
  }));
  HARENA_TRY_STATUS(pending->commit());
  plan.meter.add_file();
  return {};
}

Status receive_stream(const TransferPlan& plan, const FileStat& source, const LocalTarget& target) {
  HARENA_TRY_STATUS(Files(plan.client, plan.sandbox).read(source.path, [&](std::string_view bytes) {
    plan.meter.add_bytes(static_cast<std::int64_t>(bytes.size()));
    return write_all(target.stream.get(), bytes);
  }));
  plan.meter.add_file();
  return {};
}

Status upload_folder(const TransferPlan& plan, const std::string& source, const std::string& target) {
  HARENA_TRY(const auto entries, walk(source));
  Files files(plan.client, plan.sandbox);
  HARENA_TRY_STATUS(files.mkdir(target, std::nullopt));
  std::vector<const LocalEntry*> regular;
  std::int64_t bytes = 0;
  for (const auto& entry : entries) {
    if (entry.kind == LocalEntry::Kind::dir) HARENA_TRY_STATUS(files.mkdir(below(target, entry.relative), entry.mode | 0700));
    if (entry.kind != LocalEntry::Kind::file) continue;
    regular.push_back(&entry);
    bytes += entry.size;
  }
  plan.meter.expect(static_cast<std::int64_t>(regular.size()), bytes);
  HARENA_TRY_STATUS(in_parallel(plan, regular.size(), [&](client::Client& client, std::size_t at) {
    return send_file(plan, client, *regular[at], below(target, regular[at]->relative));
  }));
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    const auto path = below(target, entry->relative);
    if (entry->kind == LocalEntry::Kind::symlink) HARENA_TRY_STATUS(files.symlink(path, entry->target));
    if (entry->kind == LocalEntry::Kind::dir && (entry->mode & 0700) != 0700) HARENA_TRY_STATUS(files.chmod(path, entry->mode));
  }
  return {};
}

Status download_folder(const TransferPlan& plan, const std::string& source, const std::string& target) {
  std::vector<std::pair<FileStat, PathParts>> entries;
  HARENA_TRY_STATUS(Files(plan.client, plan.sandbox).list(source, true, [&](const FileStat& entry) -> Status {
    HARENA_TRY(auto parts, parts_below(source, entry.path));
    entries.emplace_back(entry, std::move(parts));
    return {};
  }));
  HARENA_TRY(const auto tree, LocalTree::open(target));
  std::vector<std::size_t> regular;
  std::int64_t bytes = 0;
  for (std::size_t at = 0; at < entries.size(); ++at) {
    const auto& [entry, parts] = entries[at];
    if (entry.type == "dir") HARENA_TRY_STATUS(tree.mkdir(parts, entry.mode));
    if (entry.type != "file") continue;
    regular.push_back(at);
    bytes += entry.size;
  }
  plan.meter.expect(static_cast<std::int64_t>(regular.size()), bytes);
  HARENA_TRY_STATUS(in_parallel(plan, regular.size(), [&](client::Client& client, std::size_t at) {
    const auto& [entry, parts] = entries[regular[at]];
    return receive_file(plan, client, entry, tree.create(parts, entry.mode));
  }));
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    if (entry->first.type == "symlink") HARENA_TRY_STATUS(tree.symlink(entry->second, entry->first.target));
    if (entry->first.type == "dir") HARENA_TRY_STATUS(tree.chmod(entry->second, entry->first.mode));
  }
  return {};
}

}  // namespace

Status upload(const TransferPlan& plan, const std::string& source, const std::string& target) {
  struct stat info {};
  if (::stat(source.c_str(), &info) != 0) return errno_error(errno, source);
  if (S_ISDIR(info.st_mode)) return plan.parallel > 0 ? upload_folder(plan, source, target) : upload_tree(plan, source, target);
  if (!S_ISREG(info.st_mode)) {
    return make_error(ErrorCode::invalid_argument, "'" + source + "' is neither a file nor a folder; it can't be copied");
  }
  char resolved[PATH_MAX];  // a link that the user names is followed: the user means what it points to
  if (::realpath(source.c_str(), resolved) == nullptr) return errno_error(errno, source);
  plan.meter.expect(1, info.st_size);
  return send_file(plan, plan.client, {.path = resolved, .mode = info.st_mode & 07777, .size = info.st_size}, target);
}

Status download(const TransferPlan& plan, const FileStat& source, const std::string& target) {
  if (source.type == "dir" && plan.parallel == 0) return download_tree(plan, source.path, target);
  if (source.type == "dir") return download_folder(plan, source.path, target);
  HARENA_TRY(const auto place, local_target(target));
  plan.meter.expect(1, source.size);
  if (place.stream) return receive_stream(plan, source, place);
  return receive_file(plan, plan.client, source, create_local_file(place.path, source.mode));
}

Status in_parallel(const TransferPlan& plan, std::size_t count,
                   const std::function<Status(client::Client&, std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::optional<Error> failure;
  const auto run = [&](std::unique_ptr<client::Client> client) {
    for (auto at = next++; at < count; at = next++) {
      if (auto status = work(*client, at); !status.ok()) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::move(status).error();
        next = count;
      }
    }
  };
  std::vector<std::thread> threads;
  const auto wanted = std::min(count, static_cast<std::size_t>(std::max(plan.parallel, 1)));
  for (std::size_t at = 0; at < wanted; ++at) threads.emplace_back(run, plan.client.clone());
  for (auto& thread : threads) thread.join();
  if (failure) return *std::move(failure);
  return {};
}

}  // namespace harena::cli
