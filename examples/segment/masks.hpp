// Pictures with a class for each pixel, as batches for a U-Net.
#pragma once
#include <cstdint>
#include <string>

#include "examples/coco/pictures.hpp"
#include "kiln/data/picture/masked.hpp"
#include "models/unet.hpp"

namespace masks {

using Loaders = coco::Loaders<kiln::MaskedBatch>;  // the first class is the background

/// Throws kiln::DataError where there are too few pictures.
Loaders load(const std::string& folder, const coco::PictureOptions& options);

/// The first eight pictures, their true classes, and those that the model sees, as a PNG file.
void draw_seen(const kiln::models::UNet& model, const Loaders& loaders, std::int64_t side, const std::string& path);

}  // namespace masks
