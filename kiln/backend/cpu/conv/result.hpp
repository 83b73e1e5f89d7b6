// Where the pieces of a convolution's result go.
#pragma once
#include "kiln/backend/cpu/conv/operand.hpp"
#include "kiln/backend/cpu/epilogue.hpp"

namespace kiln::cpu::conv {

/// To the result's memory; or each, while it is in a cache, to what finishes it, and the result gets no memory.
class ConvResult {
 public:
  /// `in_registers`: the kernel does what finish() says, of elements that it stores.
  ConvResult(Value& y, const Epilogue* epilogue, bool in_registers = false)
      : element_(static_cast<std::int64_t>(size_of(y.dtype()))),
        finish_(epilogue && in_registers ? epilogue->simple() : nullptr),
        epilogue_(finish_ ? nullptr : epilogue),
        data_(finish_    ? reinterpret_cast<std::byte*>(finish_->to)
              : epilogue ? nullptr
                         : allocate(y, channels_last_strides(y.shape())).data) {}

  /// What is left to do to elements before they are stored; or null.
  const Finish* finish() const { return finish_; }
  /// The memory of all elements, where they are not made in pieces.
  float* all() const { return reinterpret_cast<float*>(data_); }

  /// Is each piece finished by itself, with all of its elements?
  bool in_pieces() const { return epilogue_ != nullptr; }

  /// Has make(memory) write elements [first, first + count), in channels-last order. From any thread.
  template <class F>
  void piece(std::int64_t first, std::int64_t count, F&& make) const {
    if (!epilogue_) return make(data_ + first * element_);
    const Memory aside(static_cast<std::size_t>(count * element_));
    make(aside.bytes());
    epilogue_->finish({first, 1, count, count, aside.bytes(), count});
  }

 private:
  std::int64_t element_;
  const Finish* finish_;
  const Epilogue* epilogue_;
  std::byte* data_;
};

}  // namespace kiln::cpu::conv
