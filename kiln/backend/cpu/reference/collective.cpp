#include "kiln/backend/cpu/reference/reference.hpp"
#include "kiln/ops/collective/collective_ops.hpp"
#include "kiln/ops/collective/host.hpp"

namespace kiln::cpu::reference {
namespace {

/// Calls f(communicator, text with which all ranks must agree, bytes of the operand, bytes of the result).
template <class Op, class F>
void on_bytes(const Op& op, const Call& call, F f) {
  const Ranks among = Communicator::find(Op::kName, op.among);
  Value held;
  const Array x = read_contiguous(call.in[0], held), result = allocate(call.out[0]);
  const auto bytes = [](const Array& array) {
    return std::span(array.data, static_cast<std::size_t>(array.numel()) * size_of(array.dtype));
  };
  f(*among, collective::words_of(op, {x.shape, x.dtype}), std::span<const std::byte>(bytes(x)), bytes(result));
}

}  // namespace

template <>
void run(const op::AllReduce& op, Call call) {
  on_bytes(op, call, [&](Communicator& among, std::string_view what, auto x, auto result) {
    collective::all_reduce(among, what, op.how, call.in[0].dtype(), x, result);
  });
}

template <>
void run(const op::Broadcast& op, Call call) {
  on_bytes(op, call, [&](Communicator& among, std::string_view what, auto x, auto result) {
    collective::broadcast(among, what, op.root, x, result);
  });
}

template <>
void run(const op::AllGather& op, Call call) {
  on_bytes(op, call, [](Communicator& among, std::string_view what, auto x, auto result) {
    collective::all_gather(among, what, x, result);
  });
}

template <>
void run(const op::ReduceScatter& op, Call call) {
  on_bytes(op, call, [&](Communicator& among, std::string_view what, auto x, auto result) {
    collective::reduce_scatter(among, what, op.how, call.in[0].dtype(), x, result);
  });
}

}  // namespace kiln::cpu::reference
