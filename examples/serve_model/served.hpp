// What is served: a model of a file, and requests as tensors.
#pragma once
#include <string>
#include <string_view>

#include "examples/serve_model/batcher.hpp"
#include "kiln/ops/device.hpp"

namespace serving {

/// One input and one output, whose dimension 0 is the examples.
struct Served {
  Model run = {};
  kiln::Shape example = {};  // of one, without the dimension of the examples; kAny where a size is free
  kiln::DType dtype = kiln::DType::F32;
  std::string results = {};  // what comes of one example: "float32 [10]"
  std::string description = {};
  bool has_batch_of_one = false;  // examples may have a dimension of 1 before the others
};
inline constexpr std::int64_t kAny = -1;

/// Opens an ONNX file, or a graph that Kiln has captured (kiln/store/graph_file.hpp) with one example or a batch of one.
/// Throws LoadError for a model with several inputs or outputs, or with one that is no tensor of numbers for each example, and
/// what the loaders throw.
Served open_model(const std::string& file, const kiln::Device& device);

/// {"inputs": [[...], ...]}: a list of examples. Throws ConfigError or ShapeError for text that says something else.
kiln::TensorData from_json(std::string_view text, const Served& served);
/// {"outputs": [[...], ...]}
std::string to_json(const kiln::TensorData& outputs);

/// The elements of examples as they are in memory, one after the other. Throws ShapeError where they are no whole
/// number of examples, or sizes are free.
kiln::TensorData from_bytes(std::string_view bytes, const Served& served);

}  // namespace serving
