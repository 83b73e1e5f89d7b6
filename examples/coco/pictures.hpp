// Pictures with what is on them from a folder as COCO has them, as batches: those to learn from, and a fifth that is held out.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kiln/data/loader.hpp"
#include "kiln/data/picture/annotated.hpp"

namespace coco {

struct PictureOptions {
  std::string annotations;  // a file in the folder
  std::int64_t side;        // pixels of the square that pictures are brought to
  std::int64_t batch;
  int workers;
  std::uint64_t seed;
};

template <class Batch>
struct Loaders {
  std::vector<std::string> classes;
  kiln::DatasetPtr<kiln::AnnotatedPicture> held_out;  // a fifth of the pictures
  kiln::DataLoader<Batch> train, valid;
};

/// How an item becomes one of the size of the batches: the picture as it is, or a random variation, another in each epoch.
template <class Same, class Vary>
struct Changes {
  Same same;
  Vary vary;
};

/// The loaders of a folder's items, of which `train` and `valid` make batches. Throws kiln::DataError where there are fewer
/// than ten.
template <class Batch, class Batcher, class Same, class Vary>
Loaders<Batch> loaders_of(kiln::DatasetPtr<kiln::AnnotatedPicture> items, std::vector<std::string> classes,
                          const PictureOptions& options, const Changes<Same, Vary>& changes, Batcher train,
                          Batcher valid) {
  using Item = kiln::AnnotatedPicture;
  kiln::require<kiln::DataError>(items->size() >= 10, "there are too few pictures: ", items->size());
  const std::int64_t count = items->size() / 5;
  const auto [known, unseen] = kiln::split(items, {items->size() - count, count}, options.seed);
  return {std::move(classes), unseen,
          kiln::DataLoader<Batch>(known, kiln::changing<Item>(changes.vary, std::move(train)),
                                  {.batch_size = options.batch,
                                   .shuffle = true,
                                   .seed = options.seed,
                                   .workers = options.workers,
                                   .drop_last = known->size() >= options.batch}),
          kiln::DataLoader<Batch>(unseen, kiln::changing<Item>(changes.same, std::move(valid)),
                                  {.batch_size = options.batch, .workers = options.workers})};
}

}  // namespace coco
