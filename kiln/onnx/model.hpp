// A model from an .onnx file, run as it stands:
//
//   const onnx::Model model = onnx::load("mnist.onnx", Device::best());
//   const Tensor<2> logits(model.run({{"image", x}})["logits"].value());
#pragma once
#include <functional>
#include <map>
#include <tuple>
#include <variant>

#include "kiln/nn/param.hpp"
#include "kiln/onnx/graph.hpp"
#include "kiln/onnx/programs.hpp"

namespace kiln::onnx {

/// A parameter of whatever rank its tensor has.
using Parameter = std::variant<nn::Param<1>, nn::Param<2>, nn::Param<3>, nn::Param<4>, nn::Param<5>, nn::Param<6>,
                               nn::Param<7>, nn::Param<8>>;
using Parameters = std::map<std::string, Parameter>;
using NamedInputs = std::map<std::string, Datum, std::less<>>;

/// The results of a run, in the order of the graph's outputs.
class Outputs {
 public:
  Outputs(std::vector<std::string> names, std::vector<Datum> data) : names_(std::move(names)), data_(std::move(data)) {}
  std::size_t size() const { return data_.size(); }
  const Datum& operator[](std::size_t i) const { return data_.at(i); }
  /// Throws ArgumentError with the names that there are.
  const Datum& operator[](std::string_view name) const;
  auto begin() const { return data_.begin(); }
  auto end() const { return data_.end(); }

 private:
  std::vector<std::string> names_;
  std::vector<Datum> data_;
};

/// Several threads may run one model at once. A copy shares the graph, not the parameters; it is a module, so that
/// optimizers train it, freeze() takes some of it from them, `save` writes it, and value_and_grad takes it. Loaded on
/// `device.autodiff()`, its parameters require gradients; what does not is captured when inputs like those before come, and
/// replayed (kiln/onnx/programs.hpp).
class Model {
 public:
  Model() = default;
  Model(std::shared_ptr<const Graph> graph, const Device& device, std::string file,
        std::int64_t most_trips = std::int64_t{1} << 24, std::function<bool()> stop = nullptr);

  /// Inputs by name; those with a default may be left out. Sizes that are declared as names (a batch) are free, but the
  /// same wherever the name stands. Throws ArgumentError, DTypeError or ShapeError for inputs that do not fit.
  Outputs run(const NamedInputs& inputs) const;
  /// Runs the model on inputs by position: those without a default.
  Outputs run(std::vector<Datum> inputs) const;

  /// Throws ArgumentError where nothing was loaded, as all that follows.
  const Graph& graph() const;
  /// The inputs that must be given, and the outputs.
  std::vector<ValueInfo> inputs() const;
  std::vector<ValueInfo> outputs() const;
  const Device& device() const { return device_; }

  /// The float initializers of at least one dimension, by name, '.' written as '/'.
  const Parameters& parameters() const { return parameters_; }

  auto layers() { return std::tie(parameters_); }
  auto layers() const { return std::tie(parameters_); }

 private:
  Outputs run(std::vector<Datum> inputs, const NamedInputs& others) const;

  std::shared_ptr<const Graph> graph_;
  Device device_;
  std::string file_;
  std::int64_t most_trips_ = 0;
  std::function<bool()> stop_;
  Parameters parameters_;
  std::map<std::string, int> places_;  // the values that parameters are
  Programs programs_;
};

struct LoadOptions {
  bool simplify = true;  // for inference: see kiln/onnx/passes/passes.hpp
  /// Values by their names in the file, which take the place of the file's outputs. What they do not need is left out, so
  /// that a model can go on from there with a head of its own.
  Strings outputs = {};
  /// The first dimension of every input is free, though the file says a size: for files that were made with one example
  /// and whose nodes do not rely on it.
  bool free_batch = false;
  /// The most iterations of all Loops, Scans and recurrent layers that run step by step, in one run() of the model;
  /// more are an error.
  std::int64_t most_trips = std::int64_t{1} << 24;
  /// Asked before each node of a run, bodies included, by the thread that runs: true ends it with an ArgumentError. For
  /// Ctrl-C, and for deadlines.
  std::function<bool()> stop = nullptr;
};

/// Throws IoError where there is no such file, DataError where it is damaged, LoadError where it says what cannot be:
/// the sentence names the file, the node, the operator and the reason, and all operators that Kiln does not have. Throws
/// ArgumentError where no value has the name of an output that is asked for.
Model load(const std::string& path, const Device& device, const LoadOptions& options = {});
/// Loads a model from bytes in memory; errors call it `file`. External data lie in `directory`.
Model load(Bytes bytes, const std::string& file, const std::string& directory, const Device& device,
           const LoadOptions& options = {});

}  // namespace kiln::onnx
