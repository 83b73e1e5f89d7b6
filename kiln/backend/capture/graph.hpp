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

struct ReplayOptions {
  /// Random operations are pure functions of their key, and a graph keeps the keys that were drawn when it was
  /// captured: without this, every replay has the same random numbers. With it, each key is replaced by a stream below
  /// this one, the same for equal keys.
  std::optional<Key> key{};
};

struct GraphBody;  // backend/capture/body.hpp
void retain(const GraphBody*);
void release(const GraphBody*);

class Graph {
 public:
  explicit Graph(Ref<const GraphBody> body) : body_(std::move(body)) {}

  /// Runs the operations on `inputs`, in the order in which they were recorded. They pass through emit() like any
  /// others, so decorators see them, and what was tracked when capturing (inputs, or parameters that the function
  /// closed over) is tracked again. Throws ArgumentError, ShapeError or DTypeError where the inputs are not like those
  /// that the graph was captured with.
  Values replay(Inputs inputs, const ReplayOptions& options = {}) const;

  /// What it takes and gives.
  std::vector<Desc> inputs() const;
  std::vector<Desc> outputs() const;
  /// Operations that lead to an output; the others were dropped.
  std::size_t size() const;
  /// The tensors that the function closed over.
  const Values& constants() const;
  const GraphBody& body() const { return *body_; }

 private:
  Ref<const GraphBody> body_;
};

/// One operation to a line.
void append(std::string& out, const Graph& graph);

struct CaptureOptions {
  /// False for a function that draws no random numbers: the device's stream of them stays where it is.
  bool random = true;
};

/// Calls `function` once, with inputs that have the shape, element type and device of `examples` but no elements, and
/// records what it does with them. What it computes from other tensors alone is computed as always, and enters as a
/// constant. Reading a recorded value is a DeviceError.
Graph capture_graph(FunctionRef<Values(const Values&)> function, Inputs examples, const CaptureOptions& options = {});

}  // namespace kiln
