// Pictures with boxes, as batches for YOLOX.
#pragma once
#include <cstdint>
#include <string>

#include "examples/coco/pictures.hpp"
#include "models/detection/detect.hpp"

namespace boxes {

using Loaders = coco::Loaders<kiln::models::BoxedBatch>;

/// Throws kiln::DataError where there are too few pictures.
Loaders load(const std::string& folder, const coco::PictureOptions& options);

/// The first eight pictures with the boxes that the model finds, as a PNG file.
void draw_found(const kiln::models::Yolox& model, const Loaders& loaders, std::int64_t side, const std::string& path);

}  // namespace boxes
