// resize

#include "core/cli/create_options.hpp"
#include "core/cli/limit_options.hpp"
#include "core/cli/params.hpp"
#include "core/cli/print.hpp"
#include "core/cli/program.hpp"
#include "core/cli/words.hpp"
#include "sdk/client/sandboxes.hpp"

namespace harena::cli {

using client::Sandboxes;
using nlohmann::json;

namespace {

struct ResizeOptions {
  std::string id;
  LimitOptions limits;
  std::vector<std::string> params;
  std::vector<std::string> unset;
};

Result<json> change_of(client::Client& client, const ResizeOptions& options, const std::string& backend) {
  auto pairs = options.limits.pairs();
  pairs.insert(pairs.end(), options.params.begin(), options.params.end());
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

}  // namespace

void add_resize(Program& program) {
  auto options = std::make_shared<ResizeOptions>();
  auto* sub = program.command("resize", "Change limits of a living sandbox: all that are named, or none",
                              [&program, options] { return resize(program, *options); });
  sub->add_option("sandbox", options->id, "Its id")->required();
  options->limits.add_to(*sub);
  add_repeated(*sub, "-p,--param", options->params, "key=value, another parameter of the backend; repeatable");
  add_repeated(*sub, "--unset", options->unset, "A parameter that gets its default again; repeatable");
}

}  // namespace harena::cli
