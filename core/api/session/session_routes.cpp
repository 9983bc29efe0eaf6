#include "core/api/session/session_routes.hpp"

#include <nlohmann/json.hpp>

#include <array>

#include "core/api/session/handlers.hpp"
#include "sdk/http/error.hpp"

namespace harena {
namespace {

#define HARENA_COMMANDS "/v1/sandboxes/{id}/commands"
#define HARENA_FILES "/v1/sandboxes/{id}/files"

constexpr auto kRead = SessionAccess::read;
constexpr auto kUse = SessionAccess::use;

constexpr std::array kRoutes = {
    SessionRoute{"POST", HARENA_COMMANDS, "start_command", "Run a command", kUse, &start_command},
    SessionRoute{"GET", HARENA_COMMANDS, "list_commands", "Commands of a sandbox", kRead, &list_commands},
    SessionRoute{"GET", HARENA_COMMANDS "/{cid}", "get_command", "One command", kRead, &get_command},
    SessionRoute{"DELETE", HARENA_COMMANDS "/{cid}", "forget_command", "Kill all that it started and forget it", kUse, &forget_command},
    SessionRoute{"GET", HARENA_COMMANDS "/{cid}/output", "command_output", "What it printed, from any offset", kRead, &command_output},
    SessionRoute{"POST", HARENA_COMMANDS "/{cid}/stdin", "write_stdin", "Write to its stdin", kUse, &write_stdin},
    SessionRoute{"POST", HARENA_COMMANDS "/{cid}/signal", "signal_command", "Send a signal", kUse, &signal_command},
    SessionRoute{"POST", HARENA_COMMANDS "/{cid}/resize", "resize_command", "Resize its terminal", kUse, &resize_command},
    SessionRoute{"GET", HARENA_COMMANDS "/{cid}/attach", "attach_command", "Its terminal, as a WebSocket", kUse, &attach_command},
    SessionRoute{"GET", HARENA_FILES, "read_file", "Read a file", kRead, &read_file},
    SessionRoute{"PUT", HARENA_FILES, "write_file", "Write a file", kUse, &write_file},
    SessionRoute{"DELETE", HARENA_FILES, "remove_file", "Remove a file or folder", kUse, &remove_file},
    SessionRoute{"GET", HARENA_FILES "/stat", "stat_file", "What a path is", kRead, &stat_file},
    SessionRoute{"GET", HARENA_FILES "/list", "list_files", "What is in a folder", kRead, &list_files},
    SessionRoute{"POST", HARENA_FILES "/mkdir", "make_folder", "Make a folder", kUse, &make_folder},
    SessionRoute{"POST", HARENA_FILES "/move", "move_file", "Rename", kUse, &move_file},
    SessionRoute{"POST", HARENA_FILES "/chmod", "change_mode", "Change permission bits", kUse, &change_mode},
    SessionRoute{"POST", HARENA_FILES "/chown", "change_owner", "Change the owner", kUse, &change_owner},
    SessionRoute{"POST", HARENA_FILES "/symlink", "make_symlink", "Make a symlink", kUse, &make_symlink},
    SessionRoute{"POST", HARENA_FILES "/truncate", "truncate_file", "Set a file's length", kUse, &truncate_file},
    SessionRoute{"GET", HARENA_FILES "/xattrs", "list_xattrs", "Extended attributes", kRead, &list_xattrs},
    SessionRoute{"PUT", HARENA_FILES "/xattrs", "set_xattr", "Set an extended attribute", kUse, &set_xattr},
    SessionRoute{"DELETE", HARENA_FILES "/xattrs", "remove_xattr", "Remove an extended attribute", kUse, &remove_xattr},
    SessionRoute{"GET", HARENA_FILES "/watch", "watch_files", "What happens in a folder, as it happens", kRead, &watch_files},
    SessionRoute{"GET", HARENA_FILES "/archive", "read_archive", "A folder as tar", kRead, &read_archive},
    SessionRoute{"PUT", HARENA_FILES "/archive", "write_archive", "Extract a tar stream into a folder", kUse, &write_archive},
};

bool is_reason(std::string_view detail) { return detail.starts_with("no_such_") || detail == "not_executable"; }

}  // namespace

std::span<const SessionRoute> session_routes() { return kRoutes; }

http::Task<Status> run_session_route(const SessionRoute& route, http::Request& request, http::ResponseWriter& response,
                                     SessionConnector& connector) {
  auto status = co_await route.handler(request, response, connector);
  if (status || response.begun()) co_return status;
  nlohmann::json details = nlohmann::json::object();
  if (is_reason(status.error().cause_detail)) details["reason"] = status.error().cause_detail;
  co_return co_await response.send_error(status.error(), details);
}

}  // namespace harena
