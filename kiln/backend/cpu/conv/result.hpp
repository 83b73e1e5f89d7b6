// Where the pieces of a convolution's result go.
#pragma once
#include "kiln/backend/cpu/conv/operand.hpp"
#include "kiln/backend/cpu/epilogue.hpp"

namespace kiln::cpu::conv {

/// To the result's memory; or each, while it is in a cache, to what finishes it, and the result gets no memory.
class ConvResult {
 public:
  ConvResult(Value& y, const Epilogue* epilogue)
      : element_(static_cast<std::int64_t>(size_of(y.dtype()))),
        epilogue_(epilogue),
        data_(epilogue ? nullptr : allocate(y, channels_last_strides(y.shape())).data) {}

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
  const Epilogue* epilogue_;
  std::byte* data_;
};

}  // namespace kiln::cpu::conv
