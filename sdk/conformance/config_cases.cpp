// Level 1: configuration. Strings are never made up, as they may be paths.

#include <random>

#include "sdk/conformance/case.hpp"

namespace harena::conformance {
namespace {

constexpr int kFuzzRounds = 200;
constexpr std::uint64_t kSeed = 20240229;

// Calls create with these bytes, as no correct host would; checks what holds for every failure.
void create_with(Context& c, const std::string& bytes, bool must_fail) {
  const auto& d = c.library().descriptor();
  int marker = 0;
  void* out = &marker;
  loader::Invocation call;
  harena_status status = d.create(call.record(), c.host().host(), loader::to_abi(bytes), &out);
  if (status == HARENA_OK) {
    d.destroy(out);
    if (must_fail) c.fail("create succeeded with the configuration " + bytes.substr(0, 100));
    return;
  }
  c.require(out == &marker, "create failed and wrote its out value all the same, with the configuration " + bytes.substr(0, 100));
  auto outcome = call.finish(status);
  c.require(call.errors() == 1, "create failed with " + std::to_string(call.errors()) + " errors in the sink; exactly one is right. " +
                                    (outcome.ok() ? "" : outcome.error().message));
}

void config_garbage(Context& c) {
  for (const char* bytes : {"{", "nonsense", "[1,2", "{\"a\":}", "\xff\xfe\xfd", "\"unterminated"}) create_with(c, bytes, true);
}

json wrong_types(const json& value, std::mt19937_64& random) {
  const json others[] = {nullptr, true, 7, -1, 1.5, json::array(), json::object(), json::array({1, "x"})};
  json chosen = others[random() % std::size(others)];
  return value.is_string() && chosen.is_string() ? json(nullptr) : chosen;
}

void config_wrong_types(Context& c) {
  std::mt19937_64 random(kSeed);
  json good = c.need(c.library().config_schema().apply(c.config(), "config"), "the configuration given with --config");
  for (int i = 0; i < kFuzzRounds && !good.empty(); ++i) {
    json bad = good;
    auto chosen = std::next(bad.begin(), static_cast<std::ptrdiff_t>(random() % bad.size()));
    if (random() % 4 == 0) bad.erase(chosen); else *chosen = wrong_types(*chosen, random);
    create_with(c, bad.dump(), false);
  }
}

void config_bounds(Context& c) {
  json good = c.need(c.library().config_schema().apply(c.config(), "config"), "the configuration given with --config");
  const json& properties = c.library().config_schema().document().value("properties", json::object());
  for (const auto& [key, part] : properties.items()) {
    for (const char* bound : {"minimum", "maximum"}) {
      if (!part.is_object() || !part.contains(bound)) continue;
      json config = good;
      config[key] = part[bound];
      create_with(c, config.dump(), false);
    }
  }
}

void config_unknown_keys(Context& c) {
  json config = c.config();
  config["no_such_key_zz"] = 1;
  auto refused = c.library().create(c.host().host(), config);
  c.require(!refused.ok(), "an unknown configuration key is accepted: say \"additionalProperties\": false");
}

}  // namespace

std::vector<Case> config_cases() {
  return {
      {"config_unknown_keys", 1, "", "its schema refuses unknown configuration keys", config_unknown_keys},
      {"config_garbage", 1, "", "a configuration that isn't JSON is an error: no crash, no instance, one error, out value untouched", config_garbage},
      {"config_wrong_types", 1, "", "values of wrong types and missing keys are errors or fine, never crashes", config_wrong_types, 120},
      {"config_bounds", 1, "", "the smallest and largest numbers of its schema don't crash it", config_bounds, 120},
  };
}

}  // namespace harena::conformance
