// resize

#include <algorithm>
#include <array>

#include "core/cli/create_options.hpp"
#include "core/cli/params.hpp"
#include "core/cli/print.hpp"
#include "core/cli/program.hpp"
#include "core/cli/words.hpp"
#include "sdk/client/sandboxes.hpp"

namespace harena::cli {

using client::Sandboxes;
using nlohmann::json;

namespace {

/// Options of their own; the backend's others are --param.
constexpr std::array kNames = {"cpu",  "cpu_weight", "cpu_idle",  "cpuset",      "memory",       "memory_high",  "swap",
                               "pids", "disk",       "io_weight", "io_read_bps", "io_write_bps", "io_read_iops", "io_write_iops"};

struct ResizeOptions {
  std::string id;
  std::array<std::string, kNames.size()> values;
  std::vector<std::string> params;
  std::vector<std::string> unset;
};

std::vector<std::string> pairs_of(const ResizeOptions& options) {
  std::vector<std::string> pairs = options.params;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (!options.values[i].empty()) pairs.push_back(std::string(kNames[i]) + "=" + options.values[i]);
  }
  return pairs;
}

Result<json> change_of(client::Client& client, const ResizeOptions& options, const std::string& backend) {
  const auto pairs = pairs_of(options);
  if (pairs.empty() && options.unset.empty()) {
    return make_error(ErrorCode::invalid_argument, "nothing to change: name a limit, such as --memory 2GiB, or --unset NAME");
  }
  HARENA_TRY(const auto schema, backend_schema(client, backend));
  HARENA_TRY(json change, typed_params(schema, backend, pairs));
  for (const auto& name : options.unset) {
    if (change.contains(name)) return make_error(ErrorCode::invalid_argument, "'" + name + "' is both set and unset");
    change[name] = nullptr;
  }
  return change;
}

Result<int> resize(Program& program, const ResizeOptions& options) {
  HARENA_TRY(const auto client, program.connect());
  Sandboxes sandboxes(*client);
  HARENA_TRY(const auto sandbox, sandboxes.get(options.id));
  HARENA_TRY(auto change, change_of(*client, options, sandbox.backend));
  HARENA_TRY(const auto changed, sandboxes.resize(options.id, std::move(change)));
  HARENA_TRY_STATUS(program.options.json ? print_json(changed.raw) : print_line(changed.id));
  return kExitOk;
}

std::string option_name(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

}  // namespace

void add_resize(Program& program) {
  auto options = std::make_shared<ResizeOptions>();
  auto* sub = program.command("resize", "Change limits of a living sandbox: all that are named, or none",
                              [&program, options] { return resize(program, *options); });
  sub->add_option("sandbox", options->id, "Its id")->required();
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    sub->add_option(option_name(kNames[i]), options->values[i], std::string("As the parameter ") + kNames[i] + " of create");
  }
  add_repeated(*sub, "-p,--param", options->params, "key=value, another parameter of the backend; repeatable");
  add_repeated(*sub, "--unset", options->unset, "A parameter that gets its default again; repeatable");
}

}  // namespace harena::cli
