#include "shim/tar_names.hpp"

#include <iconv.h>

#include <cerrno>

// NOLINTBEGIN: the C library's own names, on purpose (tar_names.hpp).
extern "C" {

iconv_t iconv_open(const char*, const char*) {
  errno = EINVAL;
  return reinterpret_cast<iconv_t>(-1);
}

std::size_t iconv(iconv_t, char**, std::size_t*, char**, std::size_t*) {
  errno = EBADF;
  return static_cast<std::size_t>(-1);
}

int iconv_close(iconv_t) { return 0; }

}
// NOLINTEND

namespace harena::shim {

void use_names_as_bytes() {}

}  // namespace harena::shim
