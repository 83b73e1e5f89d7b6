// Graph: a program of tensor operations that was recorded without being run, to be printed and replayed.
//
//   const Graph graph = capture_graph([&](const Values& in) { return Values{matmul(in[0], w)}; }, {&x, 1});
//   text(graph)
//     graph(%0 float32 [2, 3])
//       %1 = constant  float32 [3, 4]
//       %2 = matmul(%0, %1)  float32 [2, 4]
//       return %2
#pragma once
#include <optional>
#include <vector>

#include "kiln/core/function_ref.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/value.hpp"

namespace kiln {
namespace op {
struct Op;
}

struct ReplayOptions {
  /// Random operations are pure functions of their keys, and a graph keeps the keys of its capture: without this
  /// option, every replay has the same random numbers. With it, each key is replaced by a stream below this key, the
  /// same stream for equal keys.
  std::optional<Key> key{};
};

struct GraphBody;  // backend/capture/body.hpp
void retain(const GraphBody*);
void release(const GraphBody*);

class Graph {
 public:
  explicit Graph(Ref<const GraphBody> body) : body_(std::move(body)) {}

  /// Runs the operations on `inputs`, in the order in which they were recorded. They pass through emit() like any
  /// others, so decorators see them, and values tracked during the capture (inputs, or captured parameters) are tracked
  /// again. Throws ArgumentError, ShapeError or DTypeError where the inputs do not match those of the capture.
  Values replay(Inputs inputs, const ReplayOptions& options = {}) const;

  /// The descriptions of inputs and outputs.
  std::vector<Desc> inputs() const;
  std::vector<Desc> outputs() const;
  /// The number of operations that lead to an output; others were dropped.
  std::size_t size() const;
  /// The tensors that the function captured.
  const Values& constants() const;
  const GraphBody& body() const { return *body_; }

 private:
  Ref<const GraphBody> body_;
};

/// Runs a graph whole on a device that keeps programs (a remote one). Empty: it runs call by call.
using GraphRunner = std::optional<Values> (*)(const Graph& graph, Inputs inputs, const ReplayOptions& options);
void register_graph_runner(GraphRunner run);

/// Warns once if the graph has dropout, of which each replay without a key repeats the mask.
void watch_dropout(const Graph& graph);

/// Appends the graph, one operation to a line.
void append(std::string& out, const Graph& graph);

struct CaptureOptions {
  /// Set it to false for a function that uses no random numbers: the device's stream then does not advance.
  bool random = true;
  /// Composite ops for which it returns true are recorded by the ops of their expansion; all others as they are.
  bool (*expands)(const op::Op&) = nullptr;
};

/// Calls `function` once, with inputs that have the shape, element type and device of `examples` but no elements, and
/// records its operations on them. Values that depend only on other tensors are computed as usual, and become
/// constants. Reading a recorded value is a DeviceError.
Graph capture_graph(FunctionRef<Values(const Values&)> function, Inputs examples, const CaptureOptions& options = {});

}  // namespace kiln
