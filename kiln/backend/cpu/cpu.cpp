#include "kiln/backend/cpu/cpu.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/memory/op_memory_error.hpp"
#include "kiln/backend/cpu/reference/reference.hpp"
#include "kiln/backend/cpu/rows.hpp"
#include "kiln/ops/expand.hpp"
#include "kiln/ops/op.hpp"
#include "kiln/ops/planned/sequence.hpp"

namespace kiln::cpu {
namespace {

/// Composite ops that this class runs itself, where no family of kernels does.
template <class T>
constexpr bool kHasOwnKernel = std::is_same_v<T, op::Custom> || std::is_same_v<T, op::Epilogue> ||
                               std::is_same_v<T, op::RowBlocked> || std::is_same_v<T, op::Batched>;

}  // namespace

void Cpu::run(const op::Op& op, Call call) {
  with_op_in_memory_error([&] { return op::display_name(op); }, [&] { run_kernel(op, call); });
}

void Cpu::run_kernel(const op::Op& op, Call call) {
  for (const FastKernels& kernels : fast_)
    if (kernels.run(op, call)) return;
  op::visit(op, [&]<class T>(const T& o) {
    if constexpr (std::is_same_v<T, op::Custom>) {
      if (!o.op->run(name_, call)) run_expansion(*this, op, call);
    } else if constexpr (std::is_same_v<T, op::Epilogue>) {
      run_epilogue(o, call);
    } else if constexpr (std::is_same_v<T, op::RowBlocked>) {
      if (goes_in_blocks(*o.blocks, call.in)) run_row_blocked(*o.blocks, call);
      else run_expansion(*this, op, call);
    } else if constexpr (std::is_same_v<T, op::Batched>) {
      run_batched(*o.parts, call);
    } else if constexpr (op::Composite<T>) {
      run_expansion(*this, op, call);
    } else {
      reference::run(o, call);
    }
  });
}

// A custom op's class is asked when it runs, and expanded here if it has no kernel.
bool Cpu::has_kernel(const op::Op& op) const {
  return op::visit(op, [&]<class T>(const T&) {
    if constexpr (op::Composite<T> && !kHasOwnKernel<T>)
      return std::any_of(fast_.begin(), fast_.end(), [&](const FastKernels& kernels) { return kernels.has(op); });
    else return true;
  });
}

Ref<Node> Cpu::upload(TensorData data, const Device& device) {
  Value value(make_ref<Node>(Desc{data.shape(), data.dtype()}, device));
  if (data.owner()) {
    value.node()->storage = make_ref<Memory>(data);
    value.node()->strides = contiguous_strides(data.shape());
    return value.node();
  }
  const Array array = allocate(value, MemoryUse::Upload);
  if (!data.bytes().empty()) std::memcpy(array.data, data.bytes().data(), data.bytes().size());
  return value.node();
}

TensorData Cpu::download(const Value& value) {
  const Array from = read(value);
  constexpr std::size_t kLeastLent = 64 << 10;
  const std::size_t bytes = strided::bytes_of({from.shape, from.dtype}, "cpu");
  // Nobody writes to memory that has two owners. A small part of a block is copied, and does not keep the block.
  const auto& block = static_cast<const Memory&>(*value.node()->storage);
  if (bytes >= kLeastLent && from.contiguous() && block.size() / 2 <= bytes)
    return TensorData::lent(from.shape, from.dtype, {from.data, bytes},
                            std::make_shared<const Ref<Storage>>(value.node()->storage));
  TensorData data;
  with_op_in_memory_error([] { return std::string("read"); }, [&] { data = TensorData(from.shape, from.dtype); });
  copy(from, {.data = data.bytes().data(),
              .dtype = from.dtype,
              .shape = from.shape,
              .strides = contiguous_strides(from.shape)});
  return data;
}

MemoryStatistics Cpu::memory() const { return memory_statistics(); }
void Cpu::set_memory_limit(std::int64_t bytes) {
  cpu::set_memory_limit(std::in_range<std::size_t>(bytes) ? static_cast<std::size_t>(bytes) : SIZE_MAX);
}
void Cpu::reset_memory_peak() { cpu::reset_memory_peak(); }
void Cpu::release_memory() {
  forget_packed();
  cpu::release_memory();
}

}  // namespace kiln::cpu
