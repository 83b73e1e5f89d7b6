// The state while a graph becomes loops, and the functions that make loops of ops, by family.
#pragma once
#include <map>
#include <optional>
#include <set>

#include "kiln/backend/capture/body.hpp"
#include "kiln/compile/view.hpp"

namespace kiln::compile {

/// The most steps of one expression: what would have more is stored on the way.
inline constexpr std::size_t kMostSteps = 24;

/// A step with its operands as views.
struct Site {
  const GraphStep& step;
  std::vector<View> in;  // numbers have the type of the tensors beside them; an absent operand has no operands
  std::vector<View> out{};
  bool has(int i) const { return i < static_cast<int>(in.size()) && !in[static_cast<std::size_t>(i)].value.in.empty(); }
  const Desc& result(int i = 0) const { return step.results[i]; }
};

class Lowering {
 public:
  Lowering() = default;

  Program program{};
  bool tiles = false;                    // of the target
  std::string layer{};                   // where loops come from
  std::map<std::string, int> refused{};  // what cannot be compiled: how often it occurs

  int add_buffer(DType dtype, const Shape& shape);
  /// A new buffer, as a view of all its elements.
  View buffer_for(const Desc& desc);
  /// Returns the buffer of elements of this type and these bits; equal ones are kept once.
  int add_constant(TensorData data);
  void add(Loop loop);

  /// Writes a view to memory: to a new buffer, or to `access` of one.
  View stored(const View& view);
  void store(const View& view, const Access& to);
  /// The view in memory where its operands have gaps between their rows, with the same gaps: what lies in them is computed
  /// as well, in one long row. Nothing if it has none.
  std::optional<View> stored_with_gaps(const View& view);
  /// The view as elements of one buffer, with whatever strides.
  View plain(const View& view) { return view.is_plain() ? view : stored(view); }
  /// The view as it may be read many times: in memory, unless it is cheap to compute.
  View reread(const View& view) { return view.is_plain() || view.is_cheap(program) ? view : stored(view); }
  /// A new buffer that holds `number` everywhere.
  View filled(DType dtype, const Shape& shape, const Scalar& number);

 private:
  std::multimap<std::size_t, int> constants_{};  // buffers by the hash of their bytes
};

/// Places of a view of a result, for what writes parts of it.
Access whole(const View& plain);
/// The view whose elements are read: plain `x`, whose dimension `dim` has `size` elements, at the element of plain `index`. Both
/// views move over `shape`, x by `strides`, of which those that stand for `dim` are 0.
View chosen(const View& x, const View& index, int dim, std::int64_t size, const Counts& strides, const Shape& shape);

/// Each takes the ops that it knows and returns whether it did. A Site's `out` gets a view for each result.
bool lower_elementwise(Lowering& to, Site& site);
bool lower_view(Lowering& to, Site& site);
bool lower_reduction(Lowering& to, Site& site);
bool lower_product(Lowering& to, Site& site);
bool lower_window(Lowering& to, Site& site);
bool lower_index(Lowering& to, Site& site);
bool lower_blend(Lowering& to, Site& site);

}  // namespace kiln::compile
