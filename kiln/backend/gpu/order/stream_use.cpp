#include "kiln/backend/gpu/order/stream_use.hpp"

#include "kiln/ops/failure.hpp"

namespace kiln::gpu {

StreamUse::StreamUse(Inputs values) {
  for (const Value& value : values)
    if (value.node() && value.node()->storage) begin(static_cast<Memory&>(*value.node()->storage));
}

// Ranks write beside all streams: what they fill is there once the first has waited for them, which it has by now.
void StreamUse::begin(Memory& memory) {
  StreamOrder& order = memory.pool().order();
  const int own = order.current();
  if (memory.stream() == own) return;
  memory.begin_use(own);
  foreign_.emplace_back(&memory);
  order.wait(own, memory.stream(), memory.collective() ? StreamOrder::kAll : memory.written());
}

StreamUse::~StreamUse() {
  if (foreign_.empty()) return;
  StreamOrder& order = foreign_.front()->pool().order();
  const int own = order.current();
  const std::uint64_t count = order.count(own);
  for (const Ref<Memory>& memory : foreign_) memory->end_use(own, count);
}

StreamAlone::StreamAlone(StreamOrder& order) : order_(order) { order_.wait_for_others(order_.current()); }

StreamAlone::~StreamAlone() {
  // A driver loses its device where one of the others cannot wait.
  without_errors([&] { order_.have_others_wait(order_.current()); });
}

void note_written(Storage& storage) {
  auto& memory = static_cast<Memory&>(storage);
  StreamOrder& order = memory.pool().order();
  if (order.any() && order.current() == memory.stream()) memory.write(order.count(memory.stream()));
}

}  // namespace kiln::gpu
