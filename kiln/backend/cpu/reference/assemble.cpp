#include "kiln/ops/view/assemble_ops.hpp"

#include <algorithm>

#include "kiln/backend/cpu/channels_last.hpp"
#include "kiln/backend/cpu/reference/reference.hpp"
#include "kiln/backend/cpu/rows.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu::reference {
namespace {

/// Channels-last where all parts lie so, and not all in row-major order as well: what reads the whole then finds it as it
/// found the parts.
Dims order_of(const Shape& whole, std::span<const Value> parts) {
  const Dims rows = contiguous_strides(whole);
  if (whole.size() < 3) return rows;
  bool all_rows = true;
  for (const Value& part : parts) {
    const Array x = read(part);
    if (!lies_in(x, channels_last_strides(x.shape))) return rows;
    all_rows = all_rows && lies_in(x, contiguous_strides(x.shape));
  }
  return all_rows ? rows : channels_last_strides(whole);
}

}  // namespace

template <>
void run(const op::Cat& op, Call call) {
  constexpr std::int64_t kGrain = 65536;  // elements worth a thread's while
  const Array z = allocate(call.out[0], order_of(call.out[0].shape(), call.in));
  const int dim = wrap_dim(op::Cat::kName, op.dim, z.shape.size());
  SpareVector<Array> parts;
  std::byte* place = z.data;
  for (const Value& value : call.in) {
    Array& part = parts.emplace_back(z);
    part.shape = value.shape();
    part.data = place;
    place += part.shape[dim] * z.strides[dim] * static_cast<std::int64_t>(size_of(z.dtype));
  }
  // Many small parts are shared out to the threads; large ones are copied by all.
  const auto count = static_cast<std::int64_t>(parts.size());
  const std::int64_t together =
      z.numel() < count * kGrain ? count * kGrain / std::max<std::int64_t>(z.numel(), 1) : count;
  parallel_for(count, std::max<std::int64_t>(together, 1), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto at = static_cast<std::size_t>(i);
      copy(read(call.in[at]), parts[at]);
    }
  });
}

}  // namespace kiln::cpu::reference
