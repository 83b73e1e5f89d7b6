// Call: a node while it runs, as the functions of the table see it: inputs, attributes, sub-graphs.
#pragma once
#include <functional>
#include <optional>
#include <set>

#include "kiln/onnx/graph.hpp"
#include "kiln/onnx/room.hpp"
#include "kiln/onnx/table.hpp"

namespace kiln::onnx {

/// The values of a graph while it runs.
struct Frame {
  Frame() = default;
  explicit Frame(const Graph& graph) : values(graph.values.size()) {}
  Datum& operator[](int value) { return values[static_cast<std::size_t>(value)]; }
  const Datum& operator[](int value) const { return values[static_cast<std::size_t>(value)]; }

  std::vector<Datum> values;
};

/// The most iterations of all loops of a run: a file of a few bytes may have a loop whose condition never becomes false.
inline constexpr std::int64_t kMostTrips = std::int64_t{1} << 24;

/// The part of a run that all of its nodes share.
struct RunContext {
  Device device;
  std::string file;
  mutable std::int64_t trips = kMostTrips;  // iterations that all loops may still make together
  std::set<const Graph*>* ran = nullptr;    // where set, it gets the bodies and branches that the run reaches
  std::function<bool()> stop = nullptr;     // asked before each node: whether to end the run with an error
  bool describes = false;  // elements are not wanted: each node counts as an iteration, strings are not made
};

using Ints = std::vector<std::int64_t>;

struct Call {
  const Node& node;
  const Graph& graph;
  const Frame& frame;
  const RunContext& context;
  std::vector<Datum> in;

  const Device& device() const { return context.device; }
  std::int64_t version() const { return node.version; }
  int inputs() const { return static_cast<int>(in.size()); }
  /// Output i is read.
  bool wants(int i) const;

  // ---- inputs; a missing one is an error that names it ------------------------------------------------------------
  bool has(int i) const { return i < inputs() && !in[static_cast<std::size_t>(i)].empty(); }
  const Datum& datum(int i) const;
  const Value& operator[](int i) const { return datum(i).value(); }
  /// Empty where the input is absent.
  Value get(int i) const { return has(i) ? (*this)[i] : Value(); }
  /// The tensors from `first` on.
  Values rest(int first = 0) const;
  /// A tensor of integers on the host; empty where it is absent. Waits.
  Ints ints(int i) const;
  std::int64_t integer(int i) const;
  double number(int i) const;
  /// `value` with the ONNX type of input i, where only elements were moved around.
  Datum like(int i, const Value& value) const { return datum(i).like(value); }

  // ---- attributes; one of another type is an error ----------------------------------------------------------------
  bool given(std::string_view name) const { return find_attribute(node, name) != nullptr; }
  std::int64_t i(std::string_view name, std::int64_t otherwise) const;
  double f(std::string_view name, double otherwise) const;
  std::string s(std::string_view name, std::string_view otherwise) const;
  /// One of `words`; others are unknown.
  std::string word(std::string_view name, std::string_view otherwise,
                   std::initializer_list<std::string_view> words) const;
  Ints ints(std::string_view name) const;
  std::vector<float> floats(std::string_view name) const;
  Strings strings(std::string_view name) const;
  const Datum* tensor(std::string_view name) const;
  const Graph& subgraph(std::string_view name) const;
  /// An attribute that names an element type.
  Element element(std::string_view name, Element otherwise) const;

  // ---- checks -----------------------------------------------------------------------------------------------------
  /// `dim` of a tensor of `rank`, counted from the end where negative. Throws IndexError.
  int dim(std::int64_t dim, int rank) const { return wrap_dim(node.op, dim, rank); }
  /// Input 1 + i, or the attribute: where later versions of an operator made an input of an attribute.
  Ints ints_either(int input, std::string_view attribute) const {
    return inputs() > input ? ints(input) : ints(attribute);
  }
  template <class... Parts>
  [[noreturn]] void wrong(const Parts&... what) const {
    fail<ArgumentError>(node.op, ": ", what...);
  }
  template <class... Parts>
  void check(bool holds, const Parts&... what) const {
    if (!holds) wrong(what...);
  }

  /// Takes `count` from the iterations that the run may still make. Throws ArgumentError where there are too few.
  void count_trips(std::int64_t count) const;
  /// Throws MemoryError where a list of so many bytes on the host is more than the processor's memory limit leaves.
  void check_room(std::int64_t count, std::int64_t bytes_each) const { require_room(node.op, count, bytes_each); }

  /// Runs a sub-graph, whose outer values are those of this frame.
  std::vector<Datum> run(const Graph& subgraph, std::vector<Datum> inputs) const;

 private:
  const Attribute* attribute(std::string_view name, AttributeProto::Type type) const;
};

/// Runs a graph; `outer` are the values of the graph around it, or null, and `given` what stands in place of constants.
std::vector<Datum> run_graph(const Graph& graph, std::vector<Datum> inputs, const Frame* outer,
                             const RunContext& context, const std::map<int, Datum>* given = nullptr);
/// Runs one node of a graph on the values of a frame.
void run_node(const Node& node, const Graph& graph, Frame& frame, const RunContext& context);

Dims to_dims(const Ints& list);
Shape to_shape(const Ints& list);
Ints to_ints(const Shape& shape);
/// The numbers of an integer tensor in a new tensor.
Value from_ints(const Ints& list, const Device& device);

}  // namespace kiln::onnx
