// Programs: what walking a model's graph asks of its device, captured once for each kind of inputs and replayed from
// then on. What the walk makes of weights alone is part of the program, so that it is done once.
#pragma once
#include <memory>

#include "kiln/core/function_ref.hpp"
#include "kiln/onnx/graph.hpp"

namespace kiln::onnx {

/// Does a node of the graph, or of one within it, give other numbers each time, or need a tape?
bool has_fixed_program(const Graph& graph);

/// Any number of threads may ask. A copy has none of the programs, as its weights may become others.
class Programs {
 public:
  using Walk = FunctionRef<std::vector<Datum>(std::vector<Datum>)>;

  Programs();
  explicit Programs(const Graph& graph);
  Programs(const Programs& other);
  Programs(Programs&& other) noexcept;
  Programs& operator=(const Programs& other);
  Programs& operator=(Programs&& other) noexcept;
  ~Programs();

  /// What `walk(inputs)` gives, which depends on the inputs and on `weights` alone. It is called for inputs of new
  /// types and shapes, captured the second time that these come, and replayed after that: until other weights come,
  /// which make an end of all programs. Where the walk reads an input, it is captured for each value of the inputs that
  /// are one integer or boolean, the second time that these come together. Walked each time: what reads another input,
  /// strings and sequences, what is tracked, and whatever is under Autocast.
  std::vector<Datum> run(std::vector<Datum> inputs, const Values& weights, const Device& device, Walk walk) const;

 private:
  struct CachedPrograms;
  bool fixed_ = false;
  std::unique_ptr<CachedPrograms> kept_;
};

}  // namespace kiln::onnx
