#include "plugins/e2b/envd/files/filesystem_service.hpp"

#include <map>

#include "plugins/e2b/envd/connect/live_rpc.hpp"
#include "plugins/e2b/envd/files/entry.hpp"
#include "plugins/e2b/envd/files/tree.hpp"
#include "sdk/base/text.hpp"

namespace harena::e2b {

using http::Task;
using nlohmann::json;

namespace {

/// A poll that finds nothing waits so long for the events of what was done just before it.
constexpr std::chrono::milliseconds kPollPatience{40};

template <class Request>
Task<Result<WatchWish>> wish_of(EnvdCall& call, const Request& request) {
  WatchWish wish;
  HARENA_CO_TRY(wish.path, co_await call.path(request.path()));
  wish.recursive = request.recursive();
  wish.include_entry = request.include_entry();
  wish.allow_network_mounts = request.allow_network_mounts();
  co_return wish;
}

Error named(Error error, const std::string& path) {
  if (error.code == ErrorCode::not_found) error.message = "file not found: " + as_utf8(path);
  return error;
}

Task<Status> copy_events(FolderWatch& watch, Rpc& rpc) {
  filesystem::WatchDirResponse message;
  message.mutable_start();
  HARENA_CO_TRY_STATUS(co_await rpc.send(message));
  for (;;) {
    HARENA_CO_TRY(auto events, co_await watch.next());
    if (events.empty()) co_return ok_status();
    for (auto& event : events) {
      *message.mutable_filesystem() = std::move(event);
      HARENA_CO_TRY_STATUS(rpc.hold(message));
    }
    HARENA_CO_TRY_STATUS(co_await rpc.flush());
  }
}

}  // namespace

FilesystemService::Method FilesystemService::method(std::string_view name) {
  using F = FilesystemService;
  static const std::map<std::string_view, Method> kMethods = {
      {"Stat", &F::stat},         {"MakeDir", &F::make_dir}, {"Move", &F::move},
      {"ListDir", &F::list_dir},  {"Remove", &F::remove},    {"WatchDir", &F::watch_dir},
      {"CreateWatcher", &F::create_watcher}, {"GetWatcherEvents", &F::get_watcher_events}, {"RemoveWatcher", &F::remove_watcher},
  };
  const auto found = kMethods.find(name);
  return found == kMethods.end() ? nullptr : found->second;
}

Task<Status> FilesystemService::stat(EnvdCall& call, Rpc& rpc) {
  filesystem::StatRequest request;
  HARENA_CO_TRY_STATUS(co_await rpc.receive(request));
  HARENA_CO_TRY(const auto path, co_await call.path(request.path()));
  auto entry = co_await entry_at(call, path);
  if (!entry) co_return named(std::move(entry).error(), path);
  filesystem::StatResponse response;
  *response.mutable_entry() = std::move(*entry);
  co_return co_await rpc.answer(response);
}

Task<Status> FilesystemService::make_dir(EnvdCall& call, Rpc& rpc) {
  filesystem::MakeDirRequest request;
  HARENA_CO_TRY_STATUS(co_await rpc.receive(request));
  HARENA_CO_TRY(const auto path, co_await call.path(request.path()));
  HARENA_CO_TRY(const auto owner, co_await call.account());
  auto there = co_await stat_file(call, path, true);
  if (there && there->value("type", "") == "dir") co_return make_error(ErrorCode::already_exists, "directory already exists: " + as_utf8(path));
  if (there) co_return make_error(ErrorCode::invalid_argument, "path already exists but it is not a directory: " + as_utf8(path));
  HARENA_CO_TRY_STATUS(co_await make_folders(call, path, owner));
  filesystem::MakeDirResponse response;
  HARENA_CO_TRY(*response.mutable_entry(), co_await entry_at(call, path));
  co_return co_await rpc.answer(response);
}

Task<Status> FilesystemService::move(EnvdCall& call, Rpc& rpc) {
  filesystem::MoveRequest request;
  HARENA_CO_TRY_STATUS(co_await rpc.receive(request));
  HARENA_CO_TRY(const auto source, co_await call.path(request.source()));
  HARENA_CO_TRY(const auto destination, co_await call.path(request.destination()));
  HARENA_CO_TRY(const auto owner, co_await call.account());
  auto there = co_await stat_file(call, source, false);
  if (!there) co_return named(std::move(there).error(), source);
  HARENA_CO_TRY_STATUS(co_await make_folders(call, parent_path(destination), owner));
  json body = {{"from", source}, {"to", destination}, {"replace", true}};
  HARENA_CO_TRY(const auto moved, co_await call.api.ask("POST", call.target("/files/move"), std::move(body)));
  filesystem::MoveResponse response;
  HARENA_CO_TRY(*response.mutable_entry(), co_await entry_at(call, destination));
  co_return co_await rpc.answer(response);
}

Task<Status> FilesystemService::list_dir(EnvdCall& call, Rpc& rpc) {
  filesystem::ListDirRequest request;
  HARENA_CO_TRY_STATUS(co_await rpc.receive(request));
  HARENA_CO_TRY(const auto path, co_await call.path(request.path()));
  HARENA_CO_TRY(auto entries, co_await list_tree(call, path, request.depth()));
  filesystem::ListDirResponse response;
  for (auto& entry : entries) *response.add_entries() = std::move(entry);
  co_return co_await rpc.answer(response);
}

Task<Status> FilesystemService::remove(EnvdCall& call, Rpc& rpc) {
  filesystem::RemoveRequest request;
  HARENA_CO_TRY_STATUS(co_await rpc.receive(request));
  HARENA_CO_TRY(const auto path, co_await call.path(request.path()));
  auto target = call.file_target("", path) + "&recursive=true";
  auto removed = co_await call.api.ask("DELETE", std::move(target));
  if (!removed && removed.error().code != ErrorCode::not_found) co_return std::move(removed).error();
  const filesystem::RemoveResponse response;
  co_return co_await rpc.answer(response);
}

Task<Status> FilesystemService::watch_dir(EnvdCall& call, Rpc& rpc) {
  filesystem::WatchDirRequest request;
  HARENA_CO_TRY_STATUS(co_await rpc.receive(request));
  HARENA_CO_TRY(auto wish, co_await wish_of(call, request));
  FolderWatch watch(call.sandbox, call.api.client(), std::move(wish));
  HARENA_CO_TRY_STATUS(co_await watch.open());
  filesystem::WatchDirResponse keepalive;
  keepalive.mutable_keepalive();
  auto deadline = rpc.timeout();
  if (deadline && deadline->count() == 0) deadline.reset();
  co_return co_await run_live(rpc, copy_events(watch, rpc), keepalive, deadline);
}

Task<Status> FilesystemService::create_watcher(EnvdCall& call, Rpc& rpc) {
  filesystem::CreateWatcherRequest request;
  HARENA_CO_TRY_STATUS(co_await rpc.receive(request));
  HARENA_CO_TRY(auto wish, co_await wish_of(call, request));
  auto watch = std::make_unique<FolderWatch>(call.sandbox, call.api.client(), std::move(wish));
  HARENA_CO_TRY_STATUS(co_await watch->open());
  filesystem::CreateWatcherResponse response;
  HARENA_CO_TRY(auto id, co_await watchers_.add(call.sandbox.id, std::move(watch)));
  response.set_watcher_id(std::move(id));
  co_return co_await rpc.answer(response);
}

Task<Status> FilesystemService::get_watcher_events(EnvdCall& call, Rpc& rpc) {
  filesystem::GetWatcherEventsRequest request;
  HARENA_CO_TRY_STATUS(co_await rpc.receive(request));
  HARENA_CO_TRY(auto events, watchers_.take(call.sandbox.id, request.watcher_id()));
  if (events.empty()) {
    co_await http::sleep_for(kPollPatience);
    HARENA_CO_TRY(events, watchers_.take(call.sandbox.id, request.watcher_id()));
  }
  filesystem::GetWatcherEventsResponse response;
  for (auto& event : events) *response.add_events() = std::move(event);
  co_return co_await rpc.answer(response);
}

Task<Status> FilesystemService::remove_watcher(EnvdCall& call, Rpc& rpc) {
  filesystem::RemoveWatcherRequest request;
  HARENA_CO_TRY_STATUS(co_await rpc.receive(request));
  HARENA_CO_TRY_STATUS(watchers_.remove(call.sandbox.id, request.watcher_id()));
  const filesystem::RemoveWatcherResponse response;
  co_return co_await rpc.answer(response);
}

}  // namespace harena::e2b
