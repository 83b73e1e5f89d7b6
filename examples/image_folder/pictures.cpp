#include "examples/image_folder/pictures.hpp"

#include <filesystem>

#include "kiln/data/digits.hpp"
#include "kiln/data/picture/augment.hpp"
#include "kiln/data/picture/folder.hpp"
#include "kiln/data/picture/geometry.hpp"
#include "kiln/data/png.hpp"
#include "kiln/tensor/text/print.hpp"

namespace pictures {

using namespace kiln;
namespace fs = std::filesystem;

Loaders load(const std::string& place, const Options& options) {
  const auto folder = std::make_shared<const PictureFolder>(place);
  print("{}", folder->left_out());
  require<DataError>(folder->size() >= 10, "there are too few pictures: ", folder->size());
  const std::int64_t held_out = folder->size() / 5;
  const auto [known, unseen] = split(folder, {folder->size() - held_out, held_out}, options.seed);
  const auto classes = static_cast<std::int64_t>(folder->classes().size());
  print("{} pictures of {} classes\n", folder->size(), classes);

  // What is learned from is cut and mirrored at random, anew in each epoch; what is held out is not.
  const std::int64_t side = options.side, larger = side + side / 8;
  const auto vary = [=, mirror = options.mirror](const Picture& picture, Random& random) {
    const Picture cut = random_crop(resized(picture, larger, larger), side, side, random);
    return mirror ? randomly_mirrored(cut, random) : cut;
  };
  const auto same = [side](const Picture& picture, Random&) { return resized(picture, side, side); };
  const PictureBatcher batcher = PictureBatcher::image_net();
  return {classes, held_out,
          DataLoader(known, augmenting(vary, batcher),
                     {.batch_size = options.batch,
                      .shuffle = true,
                      .seed = options.seed,
                      .workers = options.workers,
                      .drop_last = known->size() >= options.batch}),
          DataLoader(unseen, augmenting(same, batcher), {.batch_size = 64, .workers = options.workers})};
}

/// Puts digits into folders by their names, unless they lie there. All of them are there, or the folder is not.
std::string draw_digits(std::int64_t count) {
  require<ArgumentError>(count >= 10, "--digits ", count, " must be at least 10");
  const fs::path finished = text("digits-", count), folder = text(finished.string(), ".unfinished");
  if (fs::exists(finished)) return finished.string();
  fs::remove_all(folder);
  const Digits digits({.count = count, .seed = 1});
  for (std::int64_t i = 0; i < count; ++i) {
    const Image image = digits.get(i);
    const fs::path of_class = folder / text(image.label);
    fs::create_directories(of_class);
    write_png(image, (of_class / text(i, ".png")).string());
  }
  fs::rename(folder, finished);
  return finished.string();
}

}  // namespace pictures
