// Pictures that lie in folders by their classes, as batches.
#pragma once
#include <cstdint>
#include <string>

#include "kiln/data/loader.hpp"
#include "kiln/data/picture/picture.hpp"

namespace pictures {

struct Options {
  std::int64_t side;  // pixels that pictures are brought to
  bool mirror;        // they mean the same when left becomes right
  std::int64_t batch;
  int workers;
  std::uint64_t seed;
};
struct Loaders {
  std::int64_t classes, held_out;  // a fifth of the pictures is held out
  kiln::DataLoader<kiln::PictureBatch> train, valid;
};

/// Throws kiln::DataError where there are too few pictures.
Loaders load(const std::string& folder, const Options& options);

/// Puts digits into folders by their names, unless they lie there.
std::string draw_digits(std::int64_t count);

}  // namespace pictures
