#include "kiln/backend/gpu/order/streams.hpp"

namespace kiln::gpu {

struct OnStream::Entry {
  const Driver* driver;
  int number;
  Entry* outer;
  const void* thread;  // names the thread that it began in
};

namespace {

thread_local void* innermost = nullptr;

}  // namespace

int stream_of(const Driver& driver) {
  for (auto* each = static_cast<const OnStream::Entry*>(innermost); each; each = each->outer)
    if (each->driver == &driver) return each->number;
  return 0;
}

OnStream::OnStream(const Driver& driver, int number)
    : entry_(new Entry{&driver, number, static_cast<Entry*>(innermost), &innermost}) {
  innermost = entry_;
}

// An entry of another thread stays in that thread's list.
OnStream::~OnStream() {
  if (entry_->thread != &innermost) return;
  if (innermost == entry_) {
    innermost = entry_->outer;
  } else {
    auto* inner = static_cast<Entry*>(innermost);
    while (inner && inner->outer != entry_) inner = inner->outer;
    if (inner) inner->outer = entry_->outer;
  }
  delete entry_;
}

}  // namespace kiln::gpu
