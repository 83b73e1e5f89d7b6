// Pictures with boxes from a folder as COCO has them, as batches for YOLOX.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "kiln/data/loader.hpp"
#include "models/detection/detect.hpp"

namespace pictures {

struct Options {
  std::string annotations;  // a file in the folder
  std::int64_t side;        // pixels of the square that pictures are brought into
  std::int64_t batch;
  int workers;
  std::uint64_t seed;
};
struct Loaders {
  std::vector<std::string> classes;
  kiln::DatasetPtr<kiln::AnnotatedPicture> held_out;  // a fifth of the pictures
  kiln::DataLoader<kiln::models::BoxedBatch> train, valid;
};

/// Throws kiln::DataError where there are too few pictures.
Loaders load(const std::string& folder, const Options& options);

/// The first eight pictures with the boxes that the model finds, as a PNG file.
void draw_found(const kiln::models::Yolox& model, const Loaders& loaders, std::int64_t side, const std::string& path);

}  // namespace pictures
