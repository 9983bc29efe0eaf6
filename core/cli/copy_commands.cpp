// cp

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "core/cli/print.hpp"
#include "core/cli/program.hpp"
#include "core/cli/transfer.hpp"
#include "core/cli/words.hpp"

namespace harena::cli {

using client::FileStat;

namespace {

/// stdin or stdout in place of a local path; a file of that name is "./-".
constexpr std::string_view kPipe = "-";

struct CopyOptions {
  std::string source;
  std::string target;
  int parallel = 0;
  bool quiet = false;
};

/// "src/." means the content of src.
bool means_content(const std::string& path) { return path == "." || path.ends_with("/."); }

std::string last_name(const std::string& path) {
  const auto clean = std::filesystem::path(path).lexically_normal();
  return (clean.has_filename() ? clean : clean.parent_path()).filename().string();
}

/// As `cp -r`: into a folder that is there, else under the target's own name.
std::string final_target(const std::string& source, const std::string& target, bool target_is_folder) {
  if (!target_is_folder || means_content(source)) return target;
  return (target.ends_with('/') ? target : target + "/") + last_name(source);
}

Result<bool> is_remote_folder(client::Files& files, const std::string& path) {
  const auto found = files.stat(path);
  if (found.ok() && found->type != "symlink") return found->type == "dir";
  if (!found.ok() && found.error().code != ErrorCode::not_found) return found.error();
  if (!found.ok()) return false;
  return files.list(path, false, [](const FileStat&) -> Status { return {}; }).ok();  // a link to a folder can be listed
}

bool is_local_folder(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

Status copy_stdin(const TransferPlan& plan, const std::string& target, bool folder) {
  if (!folder) return upload_stdin(plan, target);
  return make_error(ErrorCode::invalid_argument, "'" + target + "' is a folder, and stdin has no name: name the file, as in " +
                                                     final_target("NAME", target, true));
}

Status copy_in(const TransferPlan& plan, const std::string& source, const std::string& target) {
  client::Files files(plan.client, plan.sandbox);
  HARENA_TRY(const bool folder, is_remote_folder(files, target));
  if (source == kPipe) return copy_stdin(plan, target, folder || target.ends_with('/'));
  return upload(plan, source, final_target(source, target, folder || target.ends_with('/')));
}

Status copy_out(const TransferPlan& plan, const std::string& source, const std::string& target) {
  auto path = means_content(source) && source.size() > 2 ? source.substr(0, source.size() - 2) : source;
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  // A link that the user names is followed: the user means what it points to.
  HARENA_TRY(auto stat, client::Files(plan.client, plan.sandbox).stat(path, true));
  stat.path = path;
  if (target == kPipe) return download_to_stdout(plan, stat);
  return download(plan, stat, final_target(source, target, is_local_folder(target)));
}

Result<int> copy(Program& program, const CopyOptions& options) {
  HARENA_TRY(const auto source, parse_place(options.source));
  HARENA_TRY(const auto target, parse_place(options.target));
  if (source.sandbox.empty() == target.sandbox.empty()) {
    return make_error(ErrorCode::invalid_argument, "one of the two is in a sandbox, written SANDBOX:/path; got '" +
                                                       options.source + "' and '" + options.target + "'");
  }
  HARENA_TRY(const auto client, program.connect());
  if (program.options.json && target.path == kPipe) {
    return make_error(ErrorCode::invalid_argument, "--json and '-' both want stdout; leave one of them out");
  }
  TransferMeter meter(!options.quiet && !program.options.json && ::isatty(STDERR_FILENO) != 0);
  const TransferPlan plan{*client, source.sandbox + target.sandbox, options.parallel, meter};
  HARENA_TRY_STATUS(source.sandbox.empty() ? copy_in(plan, source.path, target.path) : copy_out(plan, source.path, target.path));
  if (program.options.json) HARENA_TRY_STATUS(print_json({{"files", meter.files()}, {"bytes", meter.bytes()}}));
  return kExitOk;
}

}  // namespace

void add_copy(Program& program) {
  auto options = std::make_shared<CopyOptions>();
  auto* sub = program.command("cp", "Copy files and folders into or out of a sandbox",
                              [&program, options] { return copy(program, *options); });
  sub->add_option("source", options->source, "Path, or SANDBOX:/path; 'folder/.' is its content, - stdin")->required();
  sub->add_option("target", options->target, "SANDBOX:/path, or path; - stdout: a file's bytes, a folder as tar")->required();
  sub->add_option("--parallel", options->parallel, "A folder file by file, so many at once, not as one stream")
      ->check(CLI::Range(1, 64));
  sub->add_flag("-q,--quiet", options->quiet, "No progress");
}

}  // namespace harena::cli
