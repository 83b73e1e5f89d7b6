// read_pictures FOLDER: reads each file of a folder as colours, as grey and as numbers, and leaves what comes out beside it, by
// the file's name and .colour, .grey or .numbers: height, width and channels in 64 bits each, and the values. What is refused
// leaves nothing.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <vector>

#include "kiln/core/error/error.hpp"
#include "kiln/picture/decode.hpp"

int main(int count, char** arguments) {
  using namespace kiln;
  if (count != 2) return 2;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(arguments[1])) files.push_back(entry.path());
  for (const auto& file : files)
    for (const auto& [channels, name] :
         {std::pair(Channels::Colour, ".colour"), {Channels::Grey, ".grey"}, {Channels::Numbers, ".numbers"}}) {
      Picture picture;
      try {
        picture = read_picture(file.string(), {.channels = channels});
      } catch (const DataError& error) {
        std::printf("%s\n", error.what());
        continue;
      }
      std::ofstream out(file.string() + name, std::ios::binary);
      const std::int64_t sizes[] = {picture.height, picture.width, picture.channels};
      out.write(reinterpret_cast<const char*>(sizes), sizeof sizes);
      out.write(reinterpret_cast<const char*>(picture.pixels.data()), std::ssize(picture.pixels));
    }
}
