#pragma once
// The precompiled header of every room that says `PCH json`: nlohmann/json with its big templates declared extern, so
// that they are compiled once (in instances.cpp) and not in each of the hundred files that touch a document.
// Nothing includes this file by name: code includes <nlohmann/json.hpp>, and compiles the same without it.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "sdk/json/instances.hpp"
