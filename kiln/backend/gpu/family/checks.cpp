#include "kiln/backend/gpu/family/checks.hpp"

#include "kiln/backend/gpu/order/stream_use.hpp"

namespace kiln::gpu::family {

void KeptOperand::fetch(std::int64_t i, std::byte* bytes) const {
  std::int64_t at = 0;
  for (int dim = array_.shape.size() - 1; dim >= 0; --dim) {
    at += i % array_.shape[dim] * array_.strides[dim];
    i /= array_.shape[dim];
  }
  const std::size_t size = size_of(array_.dtype);
  auto& memory = static_cast<Memory&>(*memory_);
  const StreamUse use(memory);
  memory.pool().driver().download(array_.data + at * static_cast<std::int64_t>(size), size)->wait(bytes);
}

void check_indices(Gpu& gpu, const Value& cell, Call call, const Value& indices, std::string_view op, int dim,
                   std::int64_t size, std::int64_t each, std::int64_t inner) {
  gpu.check(
      cell, call,
      [kept = KeptOperand(indices), function = CalledAs::function(), op, dim, size, each, inner](std::int64_t found) {
        const std::int64_t index = kept.index(reported(found) * each / inner % kept.array().numel());
        return wrong<IndexError>(
            function, text(op, ": index ", index, " is out of range for dimension ", dim, " of size ", size));
      });
}

}  // namespace kiln::gpu::family
