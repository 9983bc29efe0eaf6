# harena_add_plugin(NAME ID reverse.dns.id SOURCES a.cpp ... CONTRACTS harena.backend/1 ...
#                   [VERSION x.y.z] [DEPS targets...] [PCH core|json] [STATIC_RUNTIME])
#
# Works inside this repository and in a project of its own (find_package(HarenaPlugin), see sdk/template). Makes
#   harena_plugin_NAME         a static library of the sources, for unit tests and static registration; its entry
#                              is called harena_plugin_entry_NAME (dashes become underscores)
#   harena_plugin_NAME_module  libharena_plugin_NAME.so, exporting harena_plugin_entry alone
# and puts the module with its plugin.json into ${CMAKE_BINARY_DIR}/plugins/NAME, and into
# lib/harena/plugins/NAME when installed.
#
# The C++ runtime is linked dynamically: the host has loaded a libstdc++ already, the distribution keeps it
# patched, and no C++ type crosses the boundary, so nothing has to agree about it. STATIC_RUNTIME links libstdc++ and
# libgcc into the plugin instead: for authors who ship one binary to distributions older than their own compiler.
#
# Nothing in a build or installed rpath, so that the file that was hashed is the file that is installed.

get_filename_component(HARENA_SDK_ROOT "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
set(HARENA_PLUGIN_CMAKE_DIR "${CMAKE_CURRENT_LIST_DIR}")

function(harena_abi_version out)
  file(STRINGS "${HARENA_SDK_ROOT}/sdk/abi/types.h" lines REGEX "^#define HARENA_ABI_M[AJINOR]+ [0-9]+")
  string(REGEX REPLACE ".*MAJOR ([0-9]+).*" "\\1" major "${lines}")
  string(REGEX REPLACE ".*MINOR ([0-9]+).*" "\\1" minor "${lines}")
  set(${out} "${major}.${minor}" PARENT_SCOPE)
endfunction()

# The wrapper and what it stands on, for a project outside this repository: compiled there, with its settings.
function(harena_plugin_sdk)
  if(TARGET harena_plugin_cpp)
    return()
  endif()
  find_package(nlohmann_json REQUIRED GLOBAL)
  file(GLOB base_sources "${HARENA_SDK_ROOT}/sdk/base/*.cpp")
  list(FILTER base_sources EXCLUDE REGEX "_test\\.cpp$")
  add_library(harena_base STATIC ${base_sources})
  target_include_directories(harena_base PUBLIC "${HARENA_SDK_ROOT}")
  target_compile_features(harena_base PUBLIC cxx_std_20)
  set_target_properties(harena_base PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden)
  add_library(harena_plugin_cpp INTERFACE)
  target_link_libraries(harena_plugin_cpp INTERFACE harena_base nlohmann_json::nlohmann_json)
endfunction()

function(harena_plugin_link_options target static_runtime)
  set(map "${CMAKE_CURRENT_BINARY_DIR}/${target}.map")
  file(CONFIGURE OUTPUT "${map}" CONTENT "{ global: harena_plugin_entry; local: *; };\n")
  target_link_options(${target} PRIVATE "-Wl,--version-script=${map}" -Wl,-z,relro -Wl,-z,now
    -Wl,-z,noexecstack -Wl,--no-undefined-version)
  set_target_properties(${target} PROPERTIES LINK_DEPENDS "${map}")
  if(NOT HARENA_SANITIZE)  # a sanitizer's runtime is resolved by the program
    target_link_options(${target} PRIVATE -Wl,-z,defs)
  endif()
  if(static_runtime)
    target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc)
  endif()
endfunction()

function(harena_plugin_manifest target name id version contracts)
  harena_abi_version(abi)
  string(JOIN "," contract_list ${contracts})
  set(arguments -DNAME=${name} -DID=${id} -DVERSION=${version} -DABI=${abi} -DCONTRACTS=${contract_list})
  add_custom_command(TARGET ${target} POST_BUILD VERBATIM
    COMMAND ${CMAKE_COMMAND} ${arguments} -DLIBRARY=$<TARGET_FILE:${target}>
            -P "${HARENA_PLUGIN_CMAKE_DIR}/harena_plugin_manifest.cmake")
  install(TARGETS ${target} LIBRARY DESTINATION "lib/harena/plugins/${name}" COMPONENT plugins)
  # Again after the copy: `cmake --install --strip` changes the bytes.
  list(JOIN arguments "\" \"" quoted)
  install(CODE "execute_process(COMMAND \"${CMAKE_COMMAND}\" \"${quoted}\"
    \"-DLIBRARY=\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib/harena/plugins/${name}/libharena_plugin_${name}.so\"
    -P \"${HARENA_PLUGIN_CMAKE_DIR}/harena_plugin_manifest.cmake\" COMMAND_ERROR_IS_FATAL ANY)" COMPONENT plugins)
endfunction()

function(harena_add_plugin name)
  cmake_parse_arguments(A "STATIC_RUNTIME" "ID;VERSION;PCH" "SOURCES;DEPS;CONTRACTS" ${ARGN})
  foreach(needed ID SOURCES CONTRACTS)
    if(NOT A_${needed})
      message(FATAL_ERROR "harena_add_plugin(${name}): ${needed} is missing; "
        "harena_add_plugin(NAME ID reverse.dns.id SOURCES a.cpp CONTRACTS harena.backend/1) is right")
    endif()
  endforeach()
  if(NOT A_VERSION)
    set(A_VERSION "${PROJECT_VERSION}")
  endif()
  harena_plugin_sdk()
  string(MAKE_C_IDENTIFIER "${name}" identifier)
  set(library harena_plugin_${name})

  add_library(${library} STATIC ${A_SOURCES})
  target_include_directories(${library} PUBLIC "${HARENA_SDK_ROOT}")
  target_compile_features(${library} PUBLIC cxx_std_20)
  target_compile_options(${library} PRIVATE -Wall -Wextra ${HARENA_WARNINGS})
  target_compile_definitions(${library} PRIVATE HARENA_PLUGIN_ID="${A_ID}" HARENA_PLUGIN_VERSION="${A_VERSION}"
    HARENA_PLUGIN_ENTRY=harena_plugin_entry_${identifier})
  set_target_properties(${library} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
    C_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_link_libraries(${library} PUBLIC harena_plugin_cpp ${A_DEPS})
  if(A_PCH)  # inside this repository alone
    harena_use_pch(${library} ${A_PCH})
    harena_use_unity(${library})
  endif()

  set(entry "${CMAKE_CURRENT_BINARY_DIR}/${name}_entry.cpp")
  file(CONFIGURE OUTPUT "${entry}" CONTENT "#include \"sdk/abi/plugin.h\"
extern \"C\" const harena_plugin_descriptor* harena_plugin_entry_${identifier}(void);
extern \"C\" __attribute__((visibility(\"default\"))) const harena_plugin_descriptor* harena_plugin_entry(void) {
  return harena_plugin_entry_${identifier}();
}
")
  add_library(${library}_module MODULE "${entry}")
  target_link_libraries(${library}_module PRIVATE ${library})
  set_target_properties(${library}_module PROPERTIES OUTPUT_NAME harena_plugin_${name} PREFIX lib
    LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/plugins/${name}" BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "")
  harena_plugin_link_options(${library}_module "${A_STATIC_RUNTIME}")
  harena_plugin_manifest(${library}_module ${name} ${A_ID} ${A_VERSION} "${A_CONTRACTS}")
endfunction()
