#include "kiln/backend/cpu/lending.hpp"

#include "kiln/backend/cpu/cpu.hpp"
#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/ops/backend.hpp"
#include "kiln/ops/devices.hpp"
#include "kiln/ops/failure.hpp"
#include "kiln/ops/move.hpp"
#include "kiln/ops/read.hpp"

namespace kiln::cpu {
namespace {

/// Another device uploads a value of the processor from where it is, and one that computes on the processor as well
/// keeps it there: no value changes, and no result takes the memory of one that has another owner.
Ref<PendingMove> lend(const Value& value, const Device& to) {
  if (!dynamic_cast<const Cpu*>(&value.device().backend().core())) return nullptr;
  run_pending({&value, 1});
  throw_if_failed(value);
  const Array array = read(value);
  const auto& block = static_cast<const Memory&>(*value.node()->storage);
  const std::size_t bytes = static_cast<std::size_t>(array.numel()) * size_of(array.dtype);
  // A small part of a block is copied, and does not keep the block.
  if (!array.contiguous() || bytes == 0 || block.size() > 2 * bytes) return nullptr;
  const auto owner = std::make_shared<const Ref<Storage>>(value.node()->storage);
  TensorData data = TensorData::lent(array.shape, array.dtype, {array.data, bytes}, owner);
  return moved(Value(to.backend().upload(std::move(data), to)));
}

}  // namespace

void register_lending() { register_mover(&lend); }

}  // namespace kiln::cpu
