# Compiler settings that hold for every room. Precompiled headers can only be shared between targets
# that are compiled alike, so whatever is common is set here and not in the rooms.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_CXX_FLAGS_DEV "-O1 -g1" CACHE STRING "")
# -O2: what is hot here are system calls and parsers, and -O3 takes longer to build.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG" CACHE STRING "" FORCE)
set(CMAKE_C_FLAGS_DEV "-O1 -g1" CACHE STRING "")
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Dev)
endif()

add_compile_options(-Wall -Wextra)
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  # gcc 12 sees an overlap in every `"text" + string` once it is inlined (PR 105651).
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>)
endif()
# Checking Asio's concepts costs build time; from Boost 1.82 on, awaiting a parallel group needs them to pick an overload.
set(HARENA_ASIO_DEFINES "")
find_path(HARENA_BOOST_INCLUDE boost/version.hpp REQUIRED)
file(STRINGS ${HARENA_BOOST_INCLUDE}/boost/version.hpp HARENA_BOOST_VERSION REGEX "^#define BOOST_VERSION [0-9]+")
string(REGEX REPLACE "^#define BOOST_VERSION ([0-9]+).*" "\\1" HARENA_BOOST_VERSION "${HARENA_BOOST_VERSION}")
if(HARENA_BOOST_VERSION LESS 108200)
  set(HARENA_ASIO_DEFINES BOOST_ASIO_DISABLE_CONCEPTS)
endif()
add_compile_definitions(
  _GNU_SOURCE _FILE_OFFSET_BITS=64
  BOOST_ASIO_SEPARATE_COMPILATION BOOST_ASIO_NO_DEPRECATED ${HARENA_ASIO_DEFINES}
  BOOST_BEAST_SEPARATE_COMPILATION BOOST_BEAST_USE_STD_STRING_VIEW BOOST_ALLOW_DEPRECATED_HEADERS
  HARENA_VERSION="${PROJECT_VERSION}")

if(HARENA_SANITIZE)
  # gcc warns of std::regex's own variables once they are instrumented (PR 105562).
  add_compile_options(-fsanitize=${HARENA_SANITIZE} -fno-omit-frame-pointer)
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized>)
  add_link_options(-fsanitize=${HARENA_SANITIZE})
  if(HARENA_SANITIZE MATCHES "thread")
    add_compile_options(-Wno-tsan)  # Asio's fences, which gcc's ThreadSanitizer doesn't model
  endif()
endif()

if(HARENA_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)  # coverage of everything that a target links
endif()

find_program(CCACHE ccache)
if(CCACHE)
  # PCH and ccache agree only when ccache ignores PCH defines and time macros (ccache manual, "Precompiled headers").
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE})
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
endif()

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
enable_testing()
