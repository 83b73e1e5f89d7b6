// write_samples DIR: the samples as directories of the standard's form, for ONNX Runtime to run.
#include <cstdio>
#include <filesystem>

#include "kiln/core/file.hpp"
#include "kiln/onnx/print.hpp"
#include "tests/onnx/save_samples.hpp"

namespace {

void write_tensor(const std::string& path, const kiln::TensorData& data) {
  kiln::onnx::WireWriter out;
  out.integers(1, data.shape());
  out.integer(2, static_cast<std::int64_t>(kiln::onnx::element_of(data.dtype())));
  out.bytes(9, data.bytes());
  kiln::write_file_atomically(path, out.written());
}

void write_sample(const std::string& directory, const kiln::onnx::test::Sample& sample, int opset,
                  kiln::onnx::Weights weights = kiln::onnx::Weights::Inside) {
  kiln::onnx::SaveOptions options = sample.options;
  options.opset = opset;
  options.weights = weights;
  std::filesystem::create_directories(directory);
  kiln::onnx::save(sample.function, sample.examples, directory + "/model.onnx", options);
  int number = 0;
  for (const auto& inputs : {sample.examples, sample.others}) {
    if (inputs.empty()) continue;
    const std::string set = directory + kiln::text("/test_data_set_", number++, "/");
    std::filesystem::create_directories(set);
    const kiln::Values outputs = sample.function(inputs);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      write_tensor(set + kiln::text("input_", i, ".pb"), inputs[i].data());
    for (std::size_t i = 0; i < outputs.size(); ++i)
      write_tensor(set + kiln::text("output_", i, ".pb"), outputs[i].data());
  }
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) {
    std::fputs("write_samples DIR\n", stderr);
    return 2;
  }
  for (const auto& sample : kiln::onnx::test::samples(kiln::Device::cpu())) {
    for (const int opset : {17, 20, 21, 23, 24, 25, 26, 27, 28})
      write_sample(kiln::text(words[1], "/", sample.name, "_", opset), sample, opset);
    write_sample(kiln::text(words[1], "/", sample.name, "_beside"), sample, 21, kiln::onnx::Weights::Beside);
  }
}
