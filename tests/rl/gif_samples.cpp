// Writes GIF files into the directory that it is given, and what they hold as bytes: for read_gif.py.
#include <fstream>

#include "kiln/core/file.hpp"
#include "kiln/core/random.hpp"
#include "kiln/rl/gif.hpp"

using namespace kiln;

int main(int, char** arguments) {
  Random random(std::uint64_t{1});
  // Few colours and many, runs and noise, a table of codes that fills up several times, one pixel.
  struct Sample {
    std::int64_t count, height, width, channels, colours;
  };
  int number = 0;
  for (const Sample& sample : {Sample{3, 40, 50, 3, 5},
                               {2, 200, 300, 3, 250},
                               {2, 64, 64, 1, 256},
                               {1, 1, 1, 3, 1},
                               {2, 120, 160, 3, 100000},
                               {2, 300, 300, 1, 1}}) {
    std::vector<Picture> pictures;
    std::string bytes;
    for (std::int64_t i = 0; i < sample.count; ++i) {
      Picture picture = blank(sample.height, sample.width, sample.channels);
      for (std::int64_t pixel = 0; pixel < sample.height * sample.width; ++pixel) {
        const std::int64_t colour = random.below(sample.colours);
        for (std::int64_t c = 0; c < sample.channels; ++c)
          picture.pixels[static_cast<std::size_t>(pixel * sample.channels + c)] =
              static_cast<std::uint8_t>(sample.channels == 1 ? colour : colour * 7 >> (2 * c));
      }
      bytes.append(picture.pixels.begin(), picture.pixels.end());
      pictures.push_back(std::move(picture));
    }
    const std::string path = std::string(arguments[1]) + "/" + std::to_string(number++);
    write_file_atomically(path + ".gif", rl::encode_gif(pictures, 50));
    std::ofstream(path + ".txt") << sample.count << " " << sample.height << " " << sample.width << " "
                                 << sample.channels;
    write_file_atomically(path + ".bytes", bytes);
  }
}
