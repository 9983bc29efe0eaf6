#pragma once
// An image as the API shows it.

#include <string>

#include <nlohmann/json.hpp>

#include "core/image/catalog.hpp"

namespace harena {

/// {"reference","digest","kind","size","layers","created"}: size is that of all layers together.
nlohmann::json image_json(const std::string& reference, const image::FoundImage& found);

}  // namespace harena
