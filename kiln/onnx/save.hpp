// Programs and models to .onnx files, for ONNX Runtime and whatever else reads them:
//
//   onnx::save(model, x, "classifier.onnx", {.free = {{"batch", 0, 0}}});
//   onnx::save([&](const Tensor<3>& x) { return model.forward(x).outputs; }, x, "lstm.onnx", {.model = model});
#pragma once
#include <optional>
#include <tuple>

#include "kiln/core/function_ref.hpp"
#include "kiln/nn/walk.hpp"
#include "kiln/onnx/table.hpp"
#include "kiln/tensor/capture.hpp"

namespace kiln::onnx {

/// A dimension of an input that may have any size. The same name in several places means the same size.
struct FreeDim {
  std::string name;       // "batch"
  std::size_t input = 0;  // the index of the example
  int dim = 0;
};

/// The place of weights: in the file, or in another one.
enum class Weights : std::uint8_t {
  Inside,  // in the file, unless it came near the 2 GB that a protobuf message may have
  Beside,  // in a file with ".data" behind the name
};

struct SaveOptions {
  Strings inputs = {}, outputs = {};  // their names; "input", "input_1", ... and "output", ... where left out
  std::vector<FreeDim> free = {};
  std::optional<nn::ModuleView> model = {};  // whose parameters give their paths to weights and nodes
  int opset = 23;                            // from 17 to kNewestOpset; attention and RMS norms are one node from 23 on
  Weights weights = Weights::Inside;
};

/// Captures what `function` does with tensors like `examples` and writes it as an ONNX graph, one row of a table an
/// operation. What it computes from other tensors alone becomes an initializer. With free dimensions it is captured
/// several times, with multiples of the examples' sizes, to see what depends on them. Loaded again, the file gives the
/// same bits on the CPU, from operator set 23 on.
///
/// Throws ArgumentError where operations have no form in ONNX (the sentence lists all of them), where a number depends on
/// a free dimension otherwise than as a multiple and an offset, or for options that do not fit; IoError. The file is
/// replaced in one step, and is as it was where something goes wrong.
void save(FunctionRef<Values(const Values&)> function, const Values& examples, const std::string& path,
          const SaveOptions& options = {});

namespace detail {

template <class T>
concept TypedTensor = requires(const T& tensor) {
  { tensor.value() } -> std::same_as<const Value&>;
};

template <class F, class... Args>
void save_typed(const F& function, const std::string& path, const SaveOptions& options, const Args&... examples) {
  const auto record = [&](const Values& in) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      using Result = std::remove_cvref_t<std::invoke_result_t<const F&, const Args&...>>;
      return kiln::detail::CapturedResult<Result>::values(function(Args(in[I])...));
    }(std::index_sequence_for<Args...>());
  };
  save(record, Values{examples.value()...}, path, options);
}

}  // namespace detail

/// Writes a function of tensors, which gives a tensor or a std::tuple of them; its examples stand in a std::tuple.
template <class F, detail::TypedTensor... Args>
requires std::invocable<const F&, const Args&...> void save(const F& function, const std::tuple<Args...>& examples,
                                                            const std::string& path, const SaveOptions& options = {}) {
  std::apply([&](const Args&... each) { detail::save_typed(function, path, options, each...); }, examples);
}
template <class F, detail::TypedTensor Arg>
requires std::invocable<const F&, const Arg&>
void save(const F& function, const Arg& example, const std::string& path, const SaveOptions& options = {}) {
  detail::save_typed(function, path, options, example);
}
/// Writes a model's forward(); its parameters keep their paths.
template <class M, detail::TypedTensor Arg>
requires requires(const M& model, const Arg& x) { model.forward(x); }
void save(const M& model, const Arg& example, const std::string& path, SaveOptions options = {}) {
  if (!options.model) options.model = nn::view_of(model);
  detail::save_typed([&](const Arg& x) { return model.forward(x); }, path, options, example);
}

}  // namespace kiln::onnx
