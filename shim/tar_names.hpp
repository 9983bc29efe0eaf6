#pragma once

namespace harena::shim {

/// Links tar_names.cpp, in which this program's iconv(3) is: libarchive would convert names by it, and glibc's reads tables and loads
/// modules from /usr/lib, which in a worker is the agent's. With it every name is the bytes that it is.
void use_names_as_bytes();

}  // namespace harena::shim
