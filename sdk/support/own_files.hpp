#pragma once
// Where a plugin's own programs and files are.

#include <string>

namespace harena {

/// The first of: beside the library that `symbol` is in; PREFIX/libexec/harena for PREFIX/lib/harena/plugins/NAME/libX.so; BUILD/bin for
/// BUILD/plugins/NAME/libX.so; /usr/local/libexec/harena, /usr/libexec/harena. Empty when none may be accessed by `mode` (X_OK, R_OK).
/// `symbol`: a function that nothing else can provide, of an anonymous namespace.
std::string find_own_file(const void* symbol, const std::string& name, int mode);

}  // namespace harena
