#pragma once
// What the commands of `harena` register into and run with.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "sdk/base/result.hpp"
#include "sdk/client/client.hpp"

namespace harena::cli {

struct GlobalOptions {
  std::string url;
  std::string token;
  bool json = false;
};

/// Exit codes of this program. A remote command's own code is passed through, 128 + N for signal N.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFindings = 1;        // `doctor` found an error
inline constexpr int kExitTimeout = 124;       // --timeout ended the remote command
inline constexpr int kExitPlatform = 125;      // Harena couldn't do it, or was asked wrongly
inline constexpr int kExitNotExecutable = 126;
inline constexpr int kExitNoSuchProgram = 127;
inline constexpr int kExitBrokenPipe = 141;    // nobody reads our output any more

/// Lives for one run. A command's setup gives `app` a subcommand whose callback sets `action`; main runs that.
struct Program {
  CLI::App app{"Sandboxes for agents and for code that nobody vouches for.", "harena"};
  GlobalOptions options;
  /// What stood behind "--", byte for byte, and never seen by the option parser; nullopt without "--".
  std::optional<std::vector<std::string>> trailing;
  std::function<Result<int>()> action;

  /// Finds the server and the token as docs/cli.md says.
  Result<std::unique_ptr<client::Client>> connect() const;

  /// A subcommand that runs `action` and takes the global options too.
  CLI::App* command(CLI::App& parent, const std::string& name, const std::string& help, std::function<Result<int>()> run);
  CLI::App* command(const std::string& name, const std::string& help, std::function<Result<int>()> run) {
    return command(app, name, help, std::move(run));
  }
};

/// An option that may be repeated and takes exactly one value each time: CLI11 would otherwise swallow the next words.
CLI::Option* add_repeated(CLI::App& app, const std::string& names, std::vector<std::string>& values, const std::string& help);

void add_resize(Program& program);
void add_events(Program& program);
void add_lifecycle(Program& program);  // create ls inspect pause resume stop
void add_snapshots(Program& program);  // fork snapshot rollback snapshots
void add_exec(Program& program);       // run exec shell
void add_console(Program& program);    // console
void add_logs(Program& program);       // ps logs
void add_copy(Program& program);       // cp
void add_ports(Program& program);      // port port-forward
void add_images(Program& program);     // images
void add_admin(Program& program);      // backends plugins nodes doctor version
void add_incidents(Program& program);  // incidents
void add_access(Program& program);     // token project
void add_e2b(Program& program);        // e2b
void add_completion(Program& program); // completion

}  // namespace harena::cli
