#include "core/cli/limit_options.hpp"

#include <algorithm>

namespace harena::cli {

namespace {

std::string option_name(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

}  // namespace

void LimitOptions::add_to(CLI::App& app) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    app.add_option(option_name(kNames[i]), values_[i], std::string("The parameter ") + kNames[i] + ", as -p would give it");
  }
}

std::vector<std::string> LimitOptions::pairs() const {
  std::vector<std::string> pairs;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (!values_[i].empty()) pairs.push_back(std::string(kNames[i]) + "=" + values_[i]);
  }
  return pairs;
}

}  // namespace harena::cli
