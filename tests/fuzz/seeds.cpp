// Writes sound files of each format into DIRECTORY/FORMAT, for libFuzzer to begin with, and makes DIRECTORY/FORMAT.found.
#include <cstdio>
#include <filesystem>

#include "kiln/core/file.hpp"
#include "kiln/store/format/source.hpp"
#include "kiln/store/numpy/numpy.hpp"
#include "kiln/store/pickle/pytorch.hpp"

#include "../store/formats/gguf_files.hpp"
#include "../store/formats/pickles.hpp"
#include "../store/formats/samples.hpp"
#include "../store/formats/zip_files.hpp"
#include "tests/onnx/small_models.hpp"

int main(int count, char** arguments) {
  using namespace kiln;
  if (count != 2) return std::fputs("fuzz_seeds DIRECTORY\n", stderr), 2;
  const auto write = [&](std::string_view format, const TensorSource& source) {
    const std::string folder = text(arguments[1], '/', format);
    std::filesystem::create_directories(folder);
    std::filesystem::create_directories(folder + ".found");
    write_tensors(source, text(folder, "/sound.", format));
  };
  TensorSource one;
  one.tensors.emplace("array", sample().tensors.at("conv1.weight"));
  write("npy", one);
  for (const char* format : {"safetensors", "kiln", "pt", "npz", "gguf"}) write(format, sample());
  write_file_atomically(text(arguments[1], "/gguf/quantised"), gguf_files::quantised_file());
  write_file_atomically(text(arguments[1], "/pt/deflated"), deflated(written(sample(), write_pytorch)));
  write_file_atomically(text(arguments[1], "/npz/deflated"), deflated(written(sample(), write_npz)));
  for (const int protocol : {2, 4}) {
    write_file_atomically(text(arguments[1], "/pt/legacy", protocol), legacy_file(protocol));
    write_file_atomically(text(arguments[1], "/pt/objects", protocol), objects_file(protocol));
  }
  std::filesystem::create_directories(text(arguments[1], "/onnx"));
  std::filesystem::create_directories(text(arguments[1], "/onnx.found"));
  for (int number = 0; const std::string& model : onnx::test::small_models())
    write_file_atomically(text(arguments[1], "/onnx/", number++, ".onnx"), model);
}
