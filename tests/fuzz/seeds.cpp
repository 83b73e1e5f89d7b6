// Writes the sound files of each reader into DIRECTORY/READER, for libFuzzer to begin with, and makes DIRECTORY/READER.found.
#include <cstdio>
#include <filesystem>

#include "kiln/core/file.hpp"
#include "tests/fuzz/target.hpp"

int main(int count, char** arguments) {
  using namespace kiln;
  if (count != 2) return std::fputs("fuzz_seeds DIRECTORY\n", stderr), 2;
  for (const test::Reader& reader : test::known_readers()) {
    const std::string folder = text(arguments[1], '/', reader.name);
    std::filesystem::create_directories(folder);
    std::filesystem::create_directories(folder + ".found");
    for (int number = 0; const test::FileContents& file : reader.sound())
      write_file_atomically(text(folder, '/', number++), file);
  }
}
