// Collectives of ranks, by the device's library if all ranks have it; else bytes go through the host. What the library
// does not combine as the ops require (halves in float32, NaN as an extreme) it gathers, and kernels combine it.
#include "kiln/ops/collective/host.hpp"

#include "kiln/backend/gpu/family/family.hpp"
#include "kiln/ops/collective/collective_ops.hpp"
#include "kiln/ops/expand.hpp"

namespace kiln::gpu::family {
namespace {

using op::ReduceFn;

/// The communicator if the device's library connects its ranks, else null.
template <class Op>
Ranks joined(Gpu& gpu, const Op& op) {
  const Ranks among = Communicator::find(Op::kName, op.among);
  Collectives* const collectives = gpu.driver().collectives();
  return collectives && collectives->can_start_collectives(*among) ? among : nullptr;
}

/// Ranks first exchange which collective they call, so that different calls are an error rather than a deadlock of the
/// device. Everything else that may fail has been done before.
void start_collective(Gpu& gpu, Communicator& among, const std::string& words, Collective::Kind kind, const Value& x,
                      const Value& result, int root = 0) {
  const auto ranks = static_cast<std::size_t>(among.size());
  gpu.driver().flush();  // the device may begin while ranks wait for each other
  among.exchange(text("GPUs: ", words), Communicator::Pieces(ranks), Communicator::Places(ranks));
  const Array from = read(x), to = read(result);
  const Collective collective{.kind = kind,
                              .root = root,
                              .dtype = from.dtype,
                              .x = from.data,
                              .result = to.data,
                              .count = kind == Collective::Kind::SumParts ? to.numel() : from.numel()};
  if (collective.count > 0) gpu.running_collectives().begin(among, collective, x, result);
}

/// A description of this call, to compare between ranks.
template <class Op>
std::string words_of(const Op& op, const Call& call) {
  return collective::words_of(op, call.in[0].node()->desc);
}

/// Does the library compute this sum or mean as the op requires?
bool combines(ReduceFn fn, DType dtype) { return meets_in(dtype) && (fn == ReduceFn::Sum || fn == ReduceFn::Mean); }

/// An operand in row-major order.
Value contiguous(Gpu& gpu, const Value& x) {
  Value held;
  gpu.read_contiguous(x, held);
  return held.empty() ? x : held;
}

/// Gathers elements `first` to `first` + `count` of all ranks' x, and combines them in the order of the ranks.
void combine_gathered(Gpu& gpu, Communicator& among, const std::string& words, ReduceFn fn, const Value& x,
                      std::int64_t first, Value& result) {
  const std::int64_t ranks = among.size(), count = numel(result.node()->desc.shape);
  const Value all = gpu.scratch({{ranks, x.numel()}, x.dtype()});
  Value flat(make_ref<Node>(Desc{{1, count}, x.dtype()}, all.device()));
  gpu.allocate(flat);
  start_collective(gpu, among, words, Collective::Kind::Gather, x, all);
  Value part(make_ref<Node>(Desc{{ranks, count}, x.dtype()}, all.device()));
  strided::alias(part, all, {x.numel(), 1}, count ? first : 0);
  run_or_expand(gpu, op::Reduce{fn, {0}}, {{&part, 1}, {&flat, 1}});
  strided::alias(result, flat, contiguous_strides(result.node()->desc.shape), 0);
}

}  // namespace

bool run(Gpu& gpu, const op::AllReduce& op, Call call) {
  const Ranks among = joined(gpu, op);
  if (!among) return false;
  const Value x = contiguous(gpu, call.in[0]);
  if (!combines(op.how, x.dtype())) {
    combine_gathered(gpu, *among, words_of(op, call), op.how, x, 0, call.out[0]);
    return true;
  }
  gpu.allocate(call.out[0]);
  start_collective(gpu, *among, words_of(op, call),
                   op.how == ReduceFn::Sum ? Collective::Kind::Sum : Collective::Kind::Mean, x, call.out[0]);
  return true;
}

bool run(Gpu& gpu, const op::Broadcast& op, Call call) {
  const Ranks among = joined(gpu, op);
  if (!among) return false;
  const Value x = contiguous(gpu, call.in[0]);
  gpu.allocate(call.out[0]);
  start_collective(gpu, *among, words_of(op, call), Collective::Kind::Send, x, call.out[0], op.root);
  return true;
}

bool run(Gpu& gpu, const op::AllGather& op, Call call) {
  const Ranks among = joined(gpu, op);
  if (!among) return false;
  const Value x = contiguous(gpu, call.in[0]);
  gpu.allocate(call.out[0]);
  start_collective(gpu, *among, words_of(op, call), Collective::Kind::Gather, x, call.out[0]);
  return true;
}

bool run(Gpu& gpu, const op::ReduceScatter& op, Call call) {
  const Ranks among = joined(gpu, op);
  if (!among) return false;
  const Value x = contiguous(gpu, call.in[0]);
  if (op.how != ReduceFn::Sum || !combines(op.how, x.dtype())) {
    combine_gathered(gpu, *among, words_of(op, call), op.how, x, among->rank() * (x.numel() / among->size()),
                     call.out[0]);
    return true;
  }
  gpu.allocate(call.out[0]);
  start_collective(gpu, *among, words_of(op, call), Collective::Kind::SumParts, x, call.out[0]);
  return true;
}

}  // namespace kiln::gpu::family
