#pragma once
// A file with one secret: complete or absent, readable by its owner alone. For the admin token, which an operator must
// find outside the state store.

#include <filesystem>
#include <optional>
#include <string>

#include "sdk/base/random.hpp"
#include "sdk/base/result.hpp"

namespace harena {

/// A secret is a line.
inline constexpr std::size_t kMaxSecretBytes = 1024;

/// Without its newline; nullopt when there is no file. failed_precondition, naming the path and what to do, for one
/// that isn't a regular file of the current user, that others may read or write, or that is longer than a secret.
Result<std::optional<std::string>> read_secret_file(const std::filesystem::path& path);

/// Writes the secret and a newline, mode 0600, durable (file and folder synced). The name appears only when the
/// content is whole; already_exists when it is taken: never overwritten. The folder must exist.
Status create_secret_file(const std::filesystem::path& path, const std::string& secret, RandomSource& random);

}  // namespace harena
