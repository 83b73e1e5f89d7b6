// Declarations for the kernels of recurrent layers, forward and backward.
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

// ---- the elementwise part of a time step (time_step.cpp) ------------------------------------------------------------

/// `count` units of one row at one time step. The gates are `gate` numbers apart in `sums`, and `width` numbers apart
/// in `inputs` and `kept`.
template <class T>
struct TimeStep {
  RecurrentCell is;
  std::int64_t width, gate, count;
  T clip;           // infinite: none
  const T* inputs;  // the parts of the gates' arguments that come from the input
  const T* sums;    // products of the state with the weight, one gate after the other
  const T* bias;    // the bias of a GRU's candidate, or null
  const T* before;  // the state before this time step
  T* cell;          // the cell of an LSTM, updated in place
  T* kept;          // activations for the backward pass; null for an LSTM if they are not wanted
  T* after;         // the new state, or the operand of an LSTM's projection; gru_gates writes r h
};
/// `count` units of one row at one time step of the backward pass. Gates are `width` numbers apart everywhere.
template <class T>
struct TimeStepGrad {
  RecurrentCell is;
  std::int64_t width, count;
  T clip;
  const T *kept, *before;  // what the forward pass kept, and the state (of an LSTM the cell) before this time step
  const T* grad;           // the gradient of the new state; for gru_reset_grad that of r h
  T* cell;                 // the gradient of an LSTM's cell, updated in place
  T* inputs;               // the gradients of the inputs
  T* sums;                 // the gradients of the products with the state, one gate after the other
  T* direct;               // the part of the gradient of the state before that needs no product
};

template <class T>
struct StepKernels {
  void (*lstm)(const TimeStep<T>&);
  void (*rnn)(const TimeStep<T>&);
  void (*gru)(const TimeStep<T>&);            // a GRU that resets after the product
  void (*gru_gates)(const TimeStep<T>&);      // r, z and r h of a GRU that resets before the product
  void (*gru_candidate)(const TimeStep<T>&);  // the rest of that GRU; `sums` are the products of the candidate
  void (*lstm_grad)(const TimeStepGrad<T>&);
  void (*rnn_grad)(const TimeStepGrad<T>&);
  void (*gru_grad)(const TimeStepGrad<T>&);         // a GRU that resets after the product
  void (*gru_update_grad)(const TimeStepGrad<T>&);  // z and n of a GRU that resets before the product
  void (*gru_reset_grad)(const TimeStepGrad<T>&);   // r of that GRU
};
/// Returns the functions for the instruction set of this machine.
template <class T> const StepKernels<T>& step_kernels();

// ---- products with a weight -----------------------------------------------------------------------------------------

/// Packs `blocks` matrices [depth, columns] into panels of columns, the last of which is filled up with zeros. Element
/// [i, j] of block k is from[first + k * block + i * row + j * column]; row or column is 1.
template <class T>
struct PanelPacker {
  std::int64_t first, blocks, block, depth, columns, row, column;

  static std::int64_t panel() { return product_tiles<T>().panel; }
  std::int64_t panels() const { return (columns + panel() - 1) / panel(); }
  std::size_t bytes() const { return static_cast<std::size_t>(blocks * panels() * panel() * depth) * sizeof(T); }
  void pack(const std::byte* from, std::byte* to) const;
};

/// A weight that is packed into panels.
template <class T>
class Panels {
 public:
  Panels() = default;
  /// Packs `weight`, which the packer sees in row-major order.
  Panels(const Value& weight, const PanelPacker<T>& packer);

  std::int64_t blocks() const { return packer_.blocks; }
  std::int64_t panels() const { return packer_.panels(); }
  /// Multiplies left [rows, depths] by the rows `depths` of some panels of a block. Writes the product to result
  /// [rows, panels * panel], or adds it there if `add`.
  void multiply(const T* left, std::int64_t left_row, std::int64_t rows, std::int64_t block, Interval panels,
                Interval depths, T* result, std::int64_t result_row, bool add) const;

 private:
  PanelPacker<T> packer_{};
  Ref<Memory> memory_;
};

/// A row of numbers for each row of the batch. The distance between rows is an odd number of cache lines, so that
/// neighbours do not compete for one set of a cache.
template <class T>
class StateRows {
 public:
  StateRows() = default;
  StateRows(std::int64_t rows, std::int64_t width);
  T* row(std::int64_t index) const { return data_ + index * step_; }
  std::int64_t step() const { return step_; }

 private:
  Ref<Memory> memory_;
  T* data_ = nullptr;
  std::int64_t step_ = 0;
};

// ---- the loop over time steps ---------------------------------------------------------------------------------------

struct RecurrentShape {
  RecurrentCell is;
  std::int64_t batch, time, hidden, out, gates;
  bool projects;
  std::vector<std::int64_t> lengths;  // the number of time steps of each row, from 0 to time

  RecurrentShape(const RecurrentCell& cell, const Value& weight, const Value& projection, const Value& lengths,
                 std::int64_t batch, std::int64_t time);
  bool resets_before() const { return is.kind == RecurrentKind::Gru && !is.reset_after; }
  /// Returns whether a time step needs a second product. The answer depends on the kind of cell alone, also if that
  /// product has no columns.
  bool two_phases() const { return projects || resets_before(); }
  std::int64_t time_step(std::int64_t step) const { return is.reverse ? time - 1 - step : step; }
  bool active(std::int64_t row, std::int64_t t) const { return t < lengths[static_cast<std::size_t>(row)]; }
  /// Returns whether any of the rows is longer than t time steps.
  bool any_active(Interval rows, std::int64_t t) const;
};

/// Returns the columns of some panels, of `count` columns in all.
template <class T>
Interval columns_of(Interval panels, std::int64_t count) {
  const std::int64_t panel = PanelPacker<T>::panel();
  return {panels.begin * panel, std::min(panels.end * panel, count)};
}
/// Returns the clip, or infinity if it is absent.
template <class T>
T clip_of(const Value& clip) {
  return clip ? clip.scalar().template to<T>() : std::numeric_limits<T>::infinity();
}
/// An operand [batch, time, width]. It is read in place if its last dimension is contiguous, and copied otherwise.
template <class T>
class TimeMajorRows {
 public:
  TimeMajorRows() = default;
  explicit TimeMajorRows(const Value& value) {
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

/// Computes one phase of a time step for some rows and panels. The next phase of these rows begins when all of their
/// panels are done.
using Phase = FunctionRef<void(int phase, std::int64_t step, Interval rows, Interval panels)>;
/// Computes `steps` time steps of all rows. `panels` has the number of panels of each phase of a step. The results of a
/// row do not depend on the rows and panels that are computed with it, so the split may depend on the number of
/// threads. A group of rows goes through all time steps. One thread computes it, which waits for no other; or several
/// threads share its panels, if there are few rows for each thread or the weight is too large for the cache of one
/// core.
void each_time_step(const RecurrentShape& shape, std::int64_t weight_bytes, std::int64_t steps,
                    std::initializer_list<std::int64_t> panels, Phase phase);

}  // namespace kiln::cpu::simd
