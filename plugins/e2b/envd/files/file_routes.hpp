#pragma once
// envd's plain HTTP for files: GET and POST /files, POST /files/compose.

#include <optional>
#include <string>

#include "plugins/e2b/envd/envd_call.hpp"
#include "plugins/e2b/envd/http/signature.hpp"

namespace harena::e2b {

/// The query of /files as a signed URL; the operation by the method.
Result<SignedUrl> signed_url(const http::Request& request);

/// Answers, also errors. The caller has been let in (token or signature).
http::Task<Status> get_file(EnvdCall& call);
http::Task<Status> post_files(EnvdCall& call);
http::Task<Status> compose_files(EnvdCall& call);

/// By the name's ending, else by the first bytes: text or not. Pure.
std::string media_type(std::string_view name, std::string_view first_bytes);
/// `inline; filename=...`, quoted or RFC 5987 where it has to be. Pure.
std::string content_disposition(const std::string& name);

enum class Coding { identity, gzip, none };
/// What Accept-Encoding wants of a file: gzip only when it is preferred, as an SDK's `gzip` option says; none: nothing that we have (406). Pure.
Coding wanted_coding(const http::Headers& headers);

}  // namespace harena::e2b
