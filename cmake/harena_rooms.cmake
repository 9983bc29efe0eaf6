# One CMake target a room. The functions here are the only way rooms are declared, so that
# warnings, precompiled headers and tests are the same everywhere.

set(HARENA_WARNINGS -Wconversion -Wno-sign-conversion -Wno-missing-field-initializers)
# Warnings are errors where we develop, with gcc; another compiler must not fail on one that we haven't met.
if(NOT CMAKE_BUILD_TYPE STREQUAL "Release" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND HARENA_WARNINGS -Werror)
endif()

# harena_room(NAME SOURCES a.cpp b.cpp [DEPS t...] [PRIVATE t...] [PCH core|json] [UNITY])
# A static library `harena_NAME` whose include root is the repository.
# PCH: a header precompiled once for the whole build; json (sdk/json), or core (sdk/http): json, Asio and Beast. With HARENA_UNITY
# the sources of such a room, and of one that says UNITY, are compiled several at once: what their headers instantiate takes most of
# the time. So names of anonymous namespaces must differ within a room. Rooms of which static programs take a part stay apart.
function(harena_room name)
  cmake_parse_arguments(A "UNITY" "PCH" "SOURCES;DEPS;PRIVATE" ${ARGN})
  add_library(harena_${name} STATIC ${A_SOURCES})
  target_include_directories(harena_${name} PUBLIC ${CMAKE_SOURCE_DIR})
  target_compile_options(harena_${name} PRIVATE ${HARENA_WARNINGS})
  target_link_libraries(harena_${name} PUBLIC ${A_DEPS} PRIVATE ${A_PRIVATE})
  harena_use_pch(harena_${name} "${A_PCH}")
  if(A_PCH OR A_UNITY)
    harena_use_unity(harena_${name})
  endif()
endfunction()

# A room of headers only.
function(harena_header_room name)
  cmake_parse_arguments(A "" "" "DEPS" ${ARGN})
  add_library(harena_${name} INTERFACE)
  target_include_directories(harena_${name} INTERFACE ${CMAKE_SOURCE_DIR})
  target_link_libraries(harena_${name} INTERFACE ${A_DEPS})
endfunction()

function(harena_use_pch target kind)
  if(NOT kind)
    return()
  endif()
  set(owner_json harena_json)
  set(owner_core harena_pch)
  if(NOT DEFINED owner_${kind})
    message(FATAL_ERROR "${target}: PCH ${kind} is unknown; core and json are right")
  endif()
  # gcc refuses a header compiled with -fPIC in a unit compiled with -fPIE, so programs are compiled like libraries.
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
  target_link_libraries(${target} PRIVATE ${owner_${kind}})
  target_precompile_headers(${target} REUSE_FROM ${owner_${kind}})
endfunction()

function(harena_use_unity target)
  if(HARENA_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    # gcc takes the anonymous namespaces of sources for a header's, since they aren't its main file.
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
endfunction()

# harena_program(NAME SOURCES ... DEPS ... [PCH core|json] [STATIC])
# STATIC: a fully static executable (what runs inside or beside a sandbox has no library to be swapped).
function(harena_program name)
  cmake_parse_arguments(A "STATIC" "PCH" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${A_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_compile_options(${name} PRIVATE ${HARENA_WARNINGS})
  target_link_libraries(${name} PRIVATE ${A_DEPS})
  if(A_STATIC AND NOT HARENA_SANITIZE)
    target_link_options(${name} PRIVATE -static)
  endif()
  harena_use_pch(${name} "${A_PCH}")
endfunction()

# harena_test(NAME SOURCES ... DEPS ... [PCH core|json] [LABELS l...] [TIMEOUT s])
# One GoogleTest executable, one ctest entry. Label `root` needs root; `serial` runs alone.
function(harena_test name)
  if(NOT HARENA_TESTS)
    return()
  endif()
  cmake_parse_arguments(A "" "PCH;TIMEOUT" "SOURCES;DEPS;LABELS;ENV" ${ARGN})
  add_executable(${name} ${A_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_compile_options(${name} PRIVATE ${HARENA_WARNINGS})
  target_link_libraries(${name} PRIVATE ${A_DEPS} GTest::gmock GTest::gtest_main)
  harena_use_pch(${name} "${A_PCH}")
  if(NOT A_TIMEOUT)
    set(A_TIMEOUT 120)
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${A_LABELS}" TIMEOUT ${A_TIMEOUT} SKIP_RETURN_CODE 77
    ENVIRONMENT "HARENA_BUILD_DIR=${CMAKE_BINARY_DIR};HARENA_SOURCE_DIR=${CMAKE_SOURCE_DIR};${A_ENV}")
  if("serial" IN_LIST A_LABELS)
    set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
  endif()
endfunction()

if(HARENA_TESTS)
  find_package(GTest REQUIRED)
endif()
