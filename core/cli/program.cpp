#include "core/cli/program.hpp"

#include <cstdlib>

namespace harena::cli {

Result<std::unique_ptr<client::Client>> Program::connect() const {
  client::DiscoveryInputs inputs{.url = options.url, .token = options.token};
  inputs.environment = [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  HARENA_TRY(auto endpoint, client::discover(inputs));
  return std::make_unique<client::Client>(std::move(endpoint));
}

CLI::App* Program::command(CLI::App& parent, const std::string& name, const std::string& help,
                           std::function<Result<int>()> run) {
  CLI::App* sub = parent.add_subcommand(name, help);
  sub->fallthrough();
  // A command with subcommands of its own runs only when none of them was named.
  sub->callback([this, sub, run = std::move(run)] {
    if (run && sub->get_subcommands().empty()) action = run;
  });
  return sub;
}

CLI::Option* add_repeated(CLI::App& app, const std::string& names, std::vector<std::string>& values, const std::string& help) {
  return app.add_option(names, values, help)->type_size(1)->allow_extra_args(false);
}

}  // namespace harena::cli
