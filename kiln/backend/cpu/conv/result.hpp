// The destination of the pieces of a convolution's result.
#pragma once
#include "kiln/backend/cpu/conv/operand.hpp"
#include "kiln/backend/cpu/epilogue.hpp"

namespace kiln::cpu::conv {

/// Pieces go to the result's memory. With an epilogue each goes to it, while it is in a cache, and the result gets no
/// memory.
class ConvResult {
 public:
  /// `in_registers`: the kernel applies finish() to the elements before it stores them.
  ConvResult(Value& y, const Epilogue* epilogue, bool in_registers = false)
      : element_(static_cast<std::int64_t>(size_of(y.dtype()))),
        finish_(epilogue && in_registers ? epilogue->simple() : nullptr),
        epilogue_(finish_ ? nullptr : epilogue),
        data_(finish_    ? reinterpret_cast<std::byte*>(finish_->to)
              : epilogue ? nullptr
                         : allocate(y, channels_last_strides(y.shape())).data) {}

  /// Returns the epilogue to apply before elements are stored; or null.
  const SimpleEpilogue* finish() const { return finish_; }
  /// Returns the memory of all elements, if they are not computed in pieces.
  float* all() const { return reinterpret_cast<float*>(data_); }

  /// Whether each piece is consumed separately, with all of its elements.
  bool in_pieces() const { return epilogue_ != nullptr; }

  /// Calls make(memory) to write elements [first, first + count), in channels-last order. Any thread may call it.
  template <class F>
  void piece(std::int64_t first, std::int64_t count, F&& make) const {
    if (!epilogue_) return make(data_ + first * element_);
    const Memory aside(static_cast<std::size_t>(count * element_));
    make(aside.bytes());
    epilogue_->finish({first, 1, count, count, aside.bytes(), count});
  }

 private:
  std::int64_t element_;
  const SimpleEpilogue* finish_;
  const Epilogue* epilogue_;
  std::byte* data_;
};

}  // namespace kiln::cpu::conv
