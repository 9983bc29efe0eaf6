#pragma once
// The file with the admin token: complete or absent, readable by its owner alone.

#include <filesystem>
#include <optional>
#include <string>

#include "sdk/base/random.hpp"
#include "sdk/base/result.hpp"

namespace harena {

/// nullopt when there is no file. failed_precondition, saying what to do, for one that isn't a regular file of the
/// current user, that others may read or write, or that holds no token.
Result<std::optional<std::string>> read_token_file(const std::filesystem::path& path);

/// Writes the token and a newline, mode 0600, durable (file and folder synced). The name appears only when the
/// content is whole; already_exists when it is taken: never overwritten. The folder must exist.
Status create_token_file(const std::filesystem::path& path, const std::string& token, RandomSource& random);

}  // namespace harena
