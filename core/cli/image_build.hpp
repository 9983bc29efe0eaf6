#pragma once
// `harena images build`: an image from a builder of deploy/image.

#include <string>

#include "core/cli/program.hpp"

namespace harena::cli {

/// What `images import` takes.
struct ImportOptions {
  std::string reference;
  std::string kind = "base";
  std::string docker;
  std::string folder;
  std::string archive;
  std::string upload;
};

struct BuildOptions {
  std::string name;       ///< base, code-interpreter
  std::string reference;  ///< empty: root/NAME:v1
  std::string languages;  ///< of code-interpreter; empty: all
  bool small = false;     ///< of code-interpreter
  std::string folder = "/var/lib/harena/build";  ///< kept, so that the next build has nothing to do when nothing changed
};

/// Builds into a folder below `options.folder`; the result is how to import it. invalid_argument for an unknown name or an option that
/// the builder hasn't; failed_precondition when the server is elsewhere, the builder isn't installed or fails; permission_denied
/// without root.
Result<ImportOptions> build_image(const client::Client& client, const BuildOptions& options);

}  // namespace harena::cli
