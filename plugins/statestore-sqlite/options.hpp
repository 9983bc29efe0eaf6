#pragma once
// The configuration of the store.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace harena::sqlite {

inline constexpr std::string_view kConfigSchema = R"({
  "type": "object", "additionalProperties": false, "required": ["path"],
  "properties": {
    "path": {"type": "string", "pattern": "^/", "default": "/var/lib/harena/state.db",
             "description": "the database; its folder is made (mode 0700) when absent"},
    "synchronous": {"enum": ["full", "normal"], "default": "full",
                    "description": "normal: a power failure may lose the last transactions, though never half of one"},
    "check": {"enum": ["quick", "full", "none"], "default": "quick", "description": "how the file is checked when it is opened"},
    "readers": {"type": "integer", "minimum": 1, "maximum": 64, "default": 4, "description": "connections for reading at once"},
    "history_revisions": {"type": "integer", "minimum": 1, "maximum": 10000000, "default": 10000,
                          "description": "transactions that a watch can look back"},
    "history_bytes": {"type": "integer", "minimum": 65536, "default": 67108864, "description": "values kept for watches at most"},
    "max_bytes": {"type": "integer", "minimum": 0, "default": 0, "description": "size of the database at most; 0: the disk's"}
  }
})";

struct Options {
  std::string path;
  bool synchronous_full = true;
  std::string check = "quick";
  std::size_t readers = 4;
  std::int64_t history_revisions = 10'000;
  std::int64_t history_bytes = 64 * 1024 * 1024;
  std::int64_t max_bytes = 0;

  /// Precondition: valid against kConfigSchema, with its defaults.
  static Options from(const nlohmann::json& config) {
    return {config.at("path"), config.at("synchronous") == "full", config.at("check"), config.at("readers"),
            config.at("history_revisions"), config.at("history_bytes"), config.at("max_bytes")};
  }
};

}  // namespace harena::sqlite
