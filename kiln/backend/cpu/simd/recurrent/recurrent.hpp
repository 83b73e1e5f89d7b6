// What the kernels of recurrent layers share, in both directions.
#pragma once
#include <algorithm>
#include <limits>
#include <vector>

#include "kiln/backend/cpu/memory/packing.hpp"
#include "kiln/backend/cpu/simd/interval.hpp"
#include "kiln/backend/cpu/simd/product/panel_rows.hpp"
#include "kiln/backend/cpu/simd/product/product_tiles.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/ops/sequence/recurrent_ops.hpp"

namespace kiln::cpu::simd {

// ---- elements of a moment (moment.cpp) -------------------------------------------------------------------------------

/// `count` units of one row. Gates lie `gate` apart, what is kept and the inputs `width`.
template <class T>
struct Moment {
  RecurrentCell is;
  std::int64_t width, gate, count;
  T clip;           // infinite: none
  const T* inputs;  // made before
  const T* sums;    // products with the state, a gate after the other
  const T* bias;    // of a candidate, or null
  const T* before;  // the state
  T* cell;          // in place
  T* kept;          // null where nobody wants what an LSTM keeps
  T* after;         // the state; of an LSTM with a projection what that is made of; of a GRU's gates r h
};
/// The same going back. Gates lie `width` apart everywhere.
template <class T>
struct MomentGrad {
  RecurrentCell is;
  std::int64_t width, count;
  T clip;
  const T *kept, *before;  // the state before; of an LSTM its cell
  const T* grad;           // of the state after; of r h, where that is asked for
  T* cell;                 // in place
  T* inputs;               // gradients of the inputs
  T* sums;                 // those of products with the state, likewise a gate after the other
  T* direct;               // what reaches the state before without a product
};

template <class T>
struct Moments {
  void (*lstm)(const Moment<T>&);
  void (*rnn)(const Moment<T>&);
  void (*gru)(const Moment<T>&);            // that resets after
  void (*gru_gates)(const Moment<T>&);      // of one that resets before: r, z and r h
  void (*gru_candidate)(const Moment<T>&);  // and then the rest, `sums` being those of the candidate
  void (*lstm_grad)(const MomentGrad<T>&);
  void (*rnn_grad)(const MomentGrad<T>&);
  void (*gru_grad)(const MomentGrad<T>&);         // that resets after
  void (*gru_update_grad)(const MomentGrad<T>&);  // of one that resets before: z and n
  void (*gru_reset_grad)(const MomentGrad<T>&);   // and then r
};
/// For the machine at hand.
template <class T> const Moments<T>& moments();

// ---- products with a weight ------------------------------------------------------------------------------------------

/// Matrices [depth, columns], as many as there are blocks, by panels of columns, the last filled up with zeros. Element
/// [i, j] of block k lies at from[first + k * block + i * row + j * column], one of row and column being 1.
template <class T>
struct PanelPacker {
  std::int64_t first, blocks, block, depth, columns, row, column;

  static std::int64_t panel() { return product_tiles<T>().panel; }
  std::int64_t panels() const { return (columns + panel() - 1) / panel(); }
  std::size_t bytes() const { return static_cast<std::size_t>(blocks * panels() * panel() * depth) * sizeof(T); }
  void pack(const std::byte* from, std::byte* to) const;
};

/// A weight in panels.
template <class T>
class Panels {
 public:
  Panels() = default;
  /// The packer reads `weight` in row-major order.
  Panels(const Value& weight, const PanelPacker<T>& packer);

  std::int64_t blocks() const { return packer_.blocks; }
  std::int64_t panels() const { return packer_.panels(); }
  /// result [rows, panels * panel] = or += left [rows, depths] times those depths of some panels of a block.
  void multiply(const T* left, std::int64_t left_row, std::int64_t rows, std::int64_t block, Interval panels,
                Interval depths, T* result, std::int64_t result_row, bool add) const;

 private:
  PanelPacker<T> packer_{};
  Ref<Memory> memory_;
};

/// A row of numbers for each row of the batch. They lie so far apart that neighbours do not meet in one set of a cache.
template <class T>
class Lines {
 public:
  Lines() = default;
  Lines(std::int64_t rows, std::int64_t width);
  T* row(std::int64_t index) const { return data_ + index * step_; }
  std::int64_t step() const { return step_; }

 private:
  Ref<Memory> memory_;
  T* data_ = nullptr;
  std::int64_t step_ = 0;
};

// ---- the walk over moments -------------------------------------------------------------------------------------------

struct RecurrentShape {
  RecurrentCell is;
  std::int64_t batch, time, hidden, out, gates;
  bool projects;
  std::vector<std::int64_t> lengths;  // of each row, from 0 to time

  RecurrentShape(const RecurrentCell& cell, const Value& weight, const Value& projection, const Value& lengths,
                 std::int64_t batch, std::int64_t time);
  bool resets_before() const { return is.kind == RecurrentKind::Gru && !is.reset_after; }
  /// Needs a moment a second product? By what the cell is, also where that product has no columns.
  bool two_phases() const { return projects || resets_before(); }
  std::int64_t moment(std::int64_t step) const { return is.reverse ? time - 1 - step : step; }
  bool active(std::int64_t row, std::int64_t t) const { return t < lengths[static_cast<std::size_t>(row)]; }
  /// Has any of the rows a moment t?
  bool any_active(Interval rows, std::int64_t t) const;
};

/// Those of `count` columns that lie in some panels.
template <class T>
Interval columns_of(Interval panels, std::int64_t count) {
  const std::int64_t panel = PanelPacker<T>::panel();
  return {panels.begin * panel, std::min(panels.end * panel, count)};
}
/// A clip that may be absent.
template <class T>
T clip_of(const Value& clip) {
  return clip ? clip.scalar().template to<T>() : std::numeric_limits<T>::infinity();
}
/// An operand [batch, time, width]: whose rows at a moment are read in place where their numbers lie side by side.
template <class T>
class MomentsOf {
 public:
  MomentsOf() = default;
  explicit MomentsOf(const Value& value) {
    Array array = read(value);
    if (array.strides[2] != 1 && array.shape[2] > 1) array = read_contiguous(value, held_);
    data_ = array.as<T>();
    row_ = array.strides[0];
    moment_ = array.strides[1];
  }
  T* at(std::int64_t row, std::int64_t t) const { return data_ + row * row_ + t * moment_; }

 private:
  Value held_;
  T* data_ = nullptr;
  std::int64_t row_ = 0, moment_ = 0;
};

/// A part of a moment after which rows wait for all of their panels.
using Phase = FunctionRef<void(int phase, std::int64_t step, Interval rows, Interval panels)>;
/// Takes all rows through `steps` steps of as many phases as `panels` says the panels of. A row's results do not depend
/// on which rows and panels go with it: so it may be the number of threads that says how the work is cut. Rows are taken
/// through all of time in groups, each by one thread, so that none waits for another, or by several that share the
/// panels, where there are few rows for each thread or the weight is too large for one core's cache.
void each_moment(const RecurrentShape& shape, std::int64_t weight_bytes, std::int64_t steps,
                 std::initializer_list<std::int64_t> panels, Phase phase);

}  // namespace kiln::cpu::simd
