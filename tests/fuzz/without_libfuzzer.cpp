// fuzz_format FOLDER...: what libFuzzer's main does, without looking at which branches an input takes: the target gets each
// file of the folders, and a thousand damaged ones of each.
#include <cstdio>
#include <filesystem>

#include "kiln/core/file.hpp"

#include "../store/formats/mutation.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int count, char** arguments) {
  using namespace kiln;
  if (count < 2) return std::fputs("fuzz_format FOLDER...\n", stderr), 2;
  const auto run = [](const std::vector<std::byte>& bytes) {
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  };
  int files = 0;
  for (int folder = 1; folder < count; ++folder)
    for (const auto& entry : std::filesystem::directory_iterator(arguments[folder])) {
      const std::vector<std::byte> sound = read_file(entry.path().string());
      run(sound);
      Random random(static_cast<std::uint64_t>(++files));
      for (int left = 1000; left > 0; --left) {
        std::vector<std::byte> bytes = sound;
        for (std::int64_t changes = 1 + random.below(8); changes > 0 && !bytes.empty(); --changes)
          damage(bytes, random);
        bytes.shrink_to_fit();
        run(bytes);
      }
    }
  return files > 0 ? 0 : 1;
}
