// Trains the guide's model with 32 hidden values and writes it as C for the firmware of a Raspberry Pi Pico:
//
//   pico [--target pico2] [--data mnist] [--images N] [--output DIR]
//   cmake -S examples/pico/firmware -B build/pico -DMODEL=DIR && cmake --build build/pico
//
// firmware/CMakeLists.txt says what that builds with Raspberry Pi's SDK, and without it.
#include <algorithm>
#include <filesystem>

#include "examples/pico/reader.hpp"
#include "kiln/compile/target.hpp"
#include "kiln/core/config/arguments.hpp"
#include "kiln/core/file.hpp"

namespace {

using namespace kiln;

struct Run {
  std::string target = "pico";  // or pico2
  std::string data = "digits";  // or mnist, or a directory with MNIST's files
  std::int64_t images = 60000;  // how many the model learns from
  std::uint64_t seed = 1;
  std::string output = "artifacts/pico";
};

void write_firmware(const Run& run) {
  (void)compile::target(run.target);  // an unknown one is an error before anything is trained
  const guide::Source source = guide::open_source(run.data);
  const guide::Model model = pico::trained(source, run.images, run.seed);
  std::int64_t right = 0;
  const std::int64_t count = std::min<std::int64_t>(1000, source.test->size());
  for (std::int64_t i = 0; i < count; ++i)
    right += pico::digit_in(model, source.test->get(i)) == source.test->get(i).label;
  const compile::CompiledCode code = pico::compiled(model, run.target);
  std::filesystem::create_directories(run.output);
  for (const auto& [name, contents] : code.files) write_file_atomically(run.output + "/" + name, contents);
  print("{} of {} digits are read right\n{}: {} bytes of constants, {} bytes of memory\n", right, count, run.output,
        code.constant_bytes, code.arena_bytes);
}

const Help kHelp{
    R"(Trains the guide's model with 32 hidden values and writes it as C for the firmware of a Raspberry Pi Pico:

  pico [--target pico2] [--data mnist] [--images N] [--output DIR]
  cmake -S examples/pico/firmware -B build/pico -DMODEL=DIR && cmake --build build/pico

firmware/CMakeLists.txt says what that builds with Raspberry Pi's SDK, and without it.)",
    {{"target", "the board: pico or pico2"},
     {"data", "mnist (downloaded), digits (drawn by Kiln), or a directory with MNIST's files"},
     {"images", "how many the model learns from"},
     {"seed", "decides initial weights, order and noise"},
     {"output", "the directory for the C sources"}}};

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, write_firmware, kHelp); }
