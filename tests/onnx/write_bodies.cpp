// write_bodies DIR: the models of bodies.hpp as directories of the standard's form, for generated.sh.
#include <cstdio>
#include <filesystem>

#include "kiln/core/file.hpp"
#include "kiln/onnx/print.hpp"
#include "tests/onnx/bodies.hpp"

int main(int count, char** words) {
  if (count != 2) {
    std::fputs("write_bodies DIR\n", stderr);
    return 2;
  }
  for (const auto& each : kiln::onnx::test::body_models()) {
    const std::string directory = kiln::text(words[1], "/", each.name);
    std::filesystem::create_directories(directory);
    kiln::write_file_atomically(directory + "/model.onnx", each.bytes);
    for (std::size_t s = 0; s < each.sets.size(); ++s) {
      const std::string set = kiln::text(directory, "/test_data_set_", s, "/");
      std::filesystem::create_directories(set);
      const auto write = [&](const std::vector<kiln::onnx::Datum>& data, const char* name) {
        for (std::size_t i = 0; i < data.size(); ++i)
          kiln::write_file_atomically(kiln::text(set, name, i, ".pb"), kiln::onnx::print_datum(data[i]));
      };
      write(each.sets[s].inputs, "input_");
      write(each.sets[s].outputs, "output_");
    }
  }
}
