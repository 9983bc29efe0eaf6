#pragma once
// Imports over HTTP: a request document or an uploaded archive in, NDJSON progress and the image out.

#include "core/api/call.hpp"
#include "core/api/services.hpp"

namespace harena {

/// From the JSON body: reference, kind, source. Paths of this machine need `admin` on the root: whoever may name them reads
/// any file of the host.
Result<image::ImportRequest> parse_import(ApiServices& services, const Principal& principal, const nlohmann::json& body);

/// From `?reference=&kind=` and the body as archive, which is kept in `into` until the import is over.
http::Task<Result<image::ImportRequest>> receive_archive(ApiServices& services, ApiCall& call,
                                                         const std::filesystem::path& into);

/// Runs it on a worker and streams `{"progress": {...}}` lines, at last `{"image": {...}}` or `{"error": {...}}`.
http::Task<Result<Reply>> run_import(ApiServices& services, ApiCall& call, image::ImportRequest request);

}  // namespace harena
