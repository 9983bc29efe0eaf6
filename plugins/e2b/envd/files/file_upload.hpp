#pragma once
// One file that comes in: where it goes, whose it is, and its metadata.

#include <map>
#include <string>
#include <vector>

#include "plugins/e2b/envd/envd_call.hpp"

namespace harena::e2b {

using Metadata = std::map<std::string, std::string>;

/// From the headers X-Metadata-KEY. invalid_argument: a key over 246 bytes, over 4096 bytes in all, a value that isn't printable ASCII.
Result<Metadata> metadata_of(const http::Headers& headers);

struct Upload {
  /// As the client wrote it.
  std::string wish;
  /// Absolute.
  std::string path;
  Account owner;
  Metadata metadata;
};

/// Resolves the wish, refuses folders (invalid_argument), makes what is missing above it.
http::Task<Result<Upload>> prepare_upload(SandboxCall& call, std::string wish, Metadata metadata);
/// The body becomes the file, atomically; the owner's, with this metadata and no other. resource_exhausted with cause_detail `disk` when full.
http::Task<Status> store_upload(SandboxCall& call, const Upload& upload, http::BodySource& body);
/// `{"name", "path", "type": "file"}` and, if there is some, `metadata`.
nlohmann::json upload_answer(const Upload& upload);

}  // namespace harena::e2b
