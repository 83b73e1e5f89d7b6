// Value: a handle to a tensor on some device (or a plain number); rank and element type are known at run time. Copies
// share the tensor by reference counting; the tensor never changes.
#pragma once
#include <span>
#include <string>
#include <utility>

#include "kiln/core/scalar.hpp"
#include "kiln/core/tensor_data.hpp"
#include "kiln/ops/node.hpp"

namespace kiln {

struct Record;  // the tape: which op made it from what (ops/record.hpp)
void retain(const Record*);
void release(const Record*);

class [[nodiscard("an operation changes no value: it returns a new one")]] Value {
 public:
  Value() = default;  // empty: an absent operand
  template <class T>
  requires std::is_arithmetic_v<T> Value(T number) : scalar_(number), is_scalar_(true) {}
  Value(const Scalar& scalar) : scalar_(scalar), is_scalar_(true) {}
  explicit Value(Ref<Node> node, Ref<Record> tape = {}, int slot = 0)
      : node_(std::move(node)), tape_(std::move(tape)), slot_(slot) {}

  bool empty() const { return !node_ && !is_scalar_; }
  explicit operator bool() const { return !empty(); }
  /// Whether it is a plain number: no device, rank 0, promotes weakly. Results of operations never are.
  bool is_scalar() const { return is_scalar_; }
  const Scalar& scalar() const { return scalar_; }

  const Shape& shape() const& { return node_ ? node_->desc.shape : shape_of_number(); }
  Shape shape() && { return std::as_const(*this).shape(); }
  /// For a plain number: float32, int64 or bool.
  DType dtype() const { return node_ ? node_->desc.dtype : dtype_of_number(); }
  int rank() const { return shape().size(); }
  std::int64_t dim(int i) const;  // negative counts from the end
  std::int64_t numel() const { return kiln::numel(shape()); }
  Device device() const;

  /// Whether it is part of a graph, so that operations on it are recorded.
  bool tracked() const { return static_cast<bool>(tape_); }
  /// This value's data as the leaf of a new graph. Throws AutodiffError on a device without autodiff or a non-float.
  Value require_grad() const;
  /// This value's data outside of any graph.
  Value detach() const { return Value(node_); }

  /// The contents on the host; waits for the device.
  TensorData data() const;
  /// The only element. Throws ShapeError where there is not exactly one.
  double item() const;

  /// Makes this value result `slot` of `tape`.
  void attach(Ref<Record> tape, int slot) {
    tape_ = std::move(tape);
    slot_ = slot;
  }

  const Ref<Node>& node() const { return node_; }
  const Ref<Record>& tape() const { return tape_; }
  int slot() const { return slot_; }

 private:
  const Shape& shape_of_number() const;
  DType dtype_of_number() const;

  Ref<Node> node_;
  Ref<Record> tape_;
  Scalar scalar_;
  std::int32_t slot_ = 0;  // which result of tape_
  bool is_scalar_ = false;
};

using Inputs = std::span<const Value>;

/// "float32 [2, 3]", or the number: how error sentences name an operand.
void append(std::string& out, const Value& value);

}  // namespace kiln
