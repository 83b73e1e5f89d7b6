// Pictures with a class for each pixel from a folder as COCO has them, as batches for a U-Net.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "kiln/data/loader.hpp"
#include "kiln/data/picture/masked.hpp"
#include "models/unet.hpp"

namespace pictures {

struct Options {
  std::string annotations;  // a file in the folder
  std::int64_t side;        // pixels of the square that pictures are brought to
  std::int64_t batch;
  int workers;
  std::uint64_t seed;
};
struct Loaders {
  std::vector<std::string> classes;                   // the background, and the categories
  kiln::DatasetPtr<kiln::AnnotatedPicture> held_out;  // a fifth of the pictures
  kiln::DataLoader<kiln::MaskedBatch> train, valid;
};

/// Throws kiln::DataError where there are too few pictures.
Loaders load(const std::string& folder, const Options& options);

/// The first eight pictures, their true classes, and those that the model sees, as a PNG file.
void draw_seen(const kiln::models::UNet& model, const Loaders& loaders, std::int64_t side, const std::string& path);

}  // namespace pictures
