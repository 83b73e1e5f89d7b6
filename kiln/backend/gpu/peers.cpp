#include "kiln/backend/gpu/peers.hpp"

#include <algorithm>

#include "kiln/backend/gpu/gpu.hpp"
#include "kiln/backend/gpu/order/stream_use.hpp"
#include "kiln/ops/backend.hpp"
#include "kiln/ops/read.hpp"

namespace kiln::gpu {

void Lent::add(Ref<Storage> memory, Ref<Mark> copied) {
  try {
    free_copied();
    const std::lock_guard lock(mutex_);
    loans_.push_back({memory, copied});
  } catch (...) {  // it would be free before it was copied
    copied->wait();
    throw;
  }
}

void Lent::free_copied() {
  std::vector<Loan> over;  // freed without the lock
  const std::lock_guard lock(mutex_);
  over.reserve(loans_.size());  // from here on nothing throws
  for (Loan& loan : loans_)
    if (loan.copied->passed()) over.push_back(std::move(loan));
  std::erase_if(loans_, [](const Loan& loan) { return !loan.memory; });
}

bool Lent::await_all() noexcept {
  std::vector<Loan> all;
  {
    const std::lock_guard lock(mutex_);
    all.swap(loans_);
  }
  for (const Loan& loan : all) without_errors([&] { loan.copied->wait(); });
  return !all.empty();
}

namespace {

/// The copy is submitted once the value is there, so that the device does other work until then.
class PeerMove final : public PendingMove {
 public:
  PeerMove(Value source, Value held, Ref<Mark> computed, Device to)
      : source_(std::move(source)), held_(std::move(held)), computed_(std::move(computed)), to_(std::move(to)) {}

  bool ready() const override { return computed_->passed(); }

  Value take() override {
    auto &from = static_cast<Gpu&>(source_.device().backend().core()), &there = static_cast<Gpu&>(to_.backend().core());
    Value result(make_ref<Node>(source_.node()->desc, to_));
    const Array array = there.allocate(result);
    const std::size_t bytes = static_cast<std::size_t>(array.numel()) * size_of(array.dtype);
    Peer& peer = *there.driver().peer();
    peer.copy_from(from.driver(), *computed_, array.data, read(held_).data, bytes);
    note_written(*result.node()->storage);
    from.lent().add(held_.node()->storage, peer.mark());
    // The value is right if the data were from which it was computed.
    std::vector<Ref<DataCheck>> checks = static_cast<const Memory&>(*source_.node()->storage).checks();
    std::erase_if(checks, [](const Ref<DataCheck>& check) { return check->passed(); });
    static_cast<Memory&>(*result.node()->storage).depend_on(std::move(checks));
    return result;
  }

 private:
  const Value source_;
  const Value held_;  // the source in row-major order
  const Ref<Mark> computed_;
  const Device to_;
};

}  // namespace

Ref<PendingMove> start_move(const Value& value, const Device& to) {
  auto* const from = dynamic_cast<Gpu*>(&value.device().backend().core());
  auto* const there = dynamic_cast<Gpu*>(&to.backend().core());
  if (!from || !there || value.numel() == 0) return nullptr;
  Peer *const peer = there->driver().peer(), *const own = from->driver().peer();
  if (!peer || !own || !peer->can_copy_from(from->driver())) return nullptr;
  run_pending({&value, 1});
  throw_if_failed(value);
  from->running_collectives().wait_for_collective({&value, 1});
  const StreamUse use({&value, 1});
  Value held;
  (void)from->read_contiguous(value, held);
  return make_ref<PeerMove>(value.detach(), held.empty() ? value.detach() : held, own->mark(), to);
}

}  // namespace kiln::gpu
