#include "kiln/backend/gpu/memory.hpp"

#include <algorithm>
#include <utility>

#include "kiln/backend/gpu/order/stream_use.hpp"
#include "kiln/backend/memory/environment_limit.hpp"
#include "kiln/core/error/error.hpp"

namespace kiln::gpu {
namespace {

std::size_t limit_of(const Driver& driver) {
  const auto there = static_cast<std::size_t>(driver.capabilities().memory);
  return std::min(there, environment_memory_limit().value_or(there));
}

}  // namespace

std::byte* SharedLimit::map(std::size_t bytes) {
  const std::lock_guard lock(mutex_);  // also for the share: no pool is refused for one that is cancelled
  if (!budget_.take(bytes)) return nullptr;
  std::byte* start = nullptr;
  try {
    start = source_.map(bytes);
  } catch (...) {
    budget_.cancel(bytes);
    throw;
  }
  if (!start) budget_.cancel(bytes);
  return start;
}

bool SharedLimit::unmap(std::byte* start, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (!source_.unmap(start, bytes)) return false;
  budget_.give_back(bytes);
  return true;
}

Pool::Pool(Ref<Driver> driver)
    : driver_(std::move(driver)),
      order_(*driver_),
      memory_(driver_->memory(), driver_->budget()),
      blocks_(limit_of(*driver_), memory_, MemoryPool::Order::LowestFirst),
      limit_(limit_of(*driver_)) {
  driver_->budget().set_limit(limit_);
}

MemoryPool& Pool::blocks(int stream) {
  if (stream == 0) return blocks_;
  const std::lock_guard lock(mutex_);
  std::unique_ptr<MemoryPool>& own = others_[static_cast<std::size_t>(stream)];
  if (!own) own = std::make_unique<MemoryPool>(limit_, memory_, MemoryPool::Order::LowestFirst);
  return *own;
}

void Pool::for_each(FunctionRef<void(MemoryPool&, int)> f) {
  const std::lock_guard lock(mutex_);
  f(blocks_, 0);
  for (std::size_t i = 1; i < others_.size(); ++i)
    if (others_[i]) f(*others_[i], static_cast<int>(i));
}

MemoryStatistics Pool::statistics() {
  MemoryStatistics all;
  for_each([&](MemoryPool& pool, int) {
    const MemoryStatistics own = pool.statistics();
    for (const auto number :
         {&MemoryStatistics::in_use, &MemoryStatistics::reserved, &MemoryStatistics::peak, &MemoryStatistics::uploads,
          &MemoryStatistics::results, &MemoryStatistics::scratch, &MemoryStatistics::packed,
          &MemoryStatistics::requests, &MemoryStatistics::system_requests})
      all.*number += own.*number;
    all.limit = own.limit;
  });
  return all;
}

void Pool::set_limit(std::size_t bytes) {
  driver_->budget().set_limit(bytes);
  std::int64_t held = 0;
  for_each([&](MemoryPool& pool, int) {
    limit_ = bytes;
    pool.set_limit(bytes);
    held += pool.statistics().reserved;
  });
  if (held > static_cast<std::int64_t>(bytes)) release_unused();
}

void Pool::reset_peak() {
  for_each([](MemoryPool& pool, int) { pool.reset_peak(); });
}

void Pool::release_unused() {
  for_each([](MemoryPool& pool, int) { pool.release_unused(); });
}

bool Pool::release_others(int stream, std::uint64_t since) {
  for_each([&](MemoryPool& pool, int number) {
    if (number != stream) pool.release_unused();
  });
  return driver_->budget().returns() != since;
}

std::string Pool::report() {
  std::vector<std::string> streams;
  std::int64_t reserved = 0;
  for_each([&](MemoryPool& pool, int number) {
    streams.push_back(number ? text("stream ", number, ": ", pool.report()) : pool.report());
    reserved += pool.statistics().reserved;
  });
  if (streams.size() == 1) return streams[0];
  const std::int64_t held = static_cast<std::int64_t>(driver_->budget().held());
  std::string all = text("all streams hold ", text_of_bytes(held));
  if (held > reserved) all += text(", of which libraries ", text_of_bytes(held - reserved));
  for (std::size_t i = 0; i < streams.size(); ++i) all += text("; ", i ? "" : "the first stream: ", streams[i]);
  return all;
}

std::size_t Pool::size_of_block(std::size_t bytes) const {
  const Capabilities& has = driver_->capabilities();
  if (!has.separate_bindings) return bytes;
  const auto step = static_cast<std::size_t>(has.binding_alignment);
  return (std::max(bytes, std::size_t{1}) + step - 1) / step * step;
}

// ---- checks --------------------------------------------------------------------------------------------------------

DataCheck::DataCheck(Value cell, std::function<std::exception_ptr(std::int64_t)> tell,
                     std::vector<Ref<DataCheck>> before)
    : stream_(static_cast<const Memory&>(*cell.node()->storage).stream()),
      tell_(std::move(tell)),
      before_(std::move(before)),
      cell_(std::move(cell)) {}

void DataCheck::start() {
  const std::lock_guard lock(mutex_);
  start_locked();
}

void DataCheck::start_locked() {
  if (cell_.empty()) return;
  const Array array = read(cell_);
  narrow_ = array.dtype == DType::U32;
  auto& memory = static_cast<Memory&>(*cell_.node()->storage);
  const StreamUse use(memory);
  transfer_ = memory.pool().driver().download(array.data, size_of(array.dtype));
  cell_ = {};
}

bool DataCheck::ready() {
  const std::lock_guard lock(mutex_);
  return cell_.empty() && (!transfer_ || transfer_->ready());
}

Ref<Failure> DataCheck::failure() {
  const std::lock_guard lock(mutex_);
  start_locked();
  if (transfer_) {
    std::int64_t found = 0;
    transfer_->wait(reinterpret_cast<std::byte*>(&found));
    // A place that was reported (family/checks.hpp) has its first bit set.
    if (narrow_ && found >> 31) found |= std::int64_t{0x7fffffff} << 32;
    transfer_ = nullptr;
    for (const Ref<DataCheck>& check : std::exchange(before_, {})) failure_ = joined(failure_, check->failure());
    if (found && !failure_) failure_ = make_ref<Failure>(tell_(found));
    passed_ = !failure_;
    tell_ = nullptr;
  }
  return failure_;
}

// ---- memory --------------------------------------------------------------------------------------------------------

Memory::Memory(Ref<Pool> pool, std::size_t bytes, const Purpose& purpose)
    : Memory(std::move(pool), pool->order().current(), bytes, purpose) {}

Memory::Memory(Ref<Pool>&& pool, int stream, std::size_t bytes, const Purpose& purpose)
    : Block(pool->blocks(stream).acquire(pool->size_of_block(bytes), purpose), bytes, purpose.use),
      pool_(std::move(pool)),
      stream_(stream) {
  if (bytes_) {
    pool_->driver().acquired(bytes_, size_);
    return;
  }
  const std::string what = purpose.desc ? text("a tensor ", purpose.desc->dtype, " ", purpose.desc->shape) : "a kernel";
  fail<MemoryError>(pool_->driver().name(), ": ", what, " needs ", bytes, " bytes (",
                    text_of_bytes(static_cast<std::int64_t>(bytes)), "), for which there is no room; ",
                    pool_->report());
}

// The block stays as it is where the stream cannot wait: its device does nothing more.
Memory::~Memory() {
  pool_->driver().released(bytes_, size_);
  if (!uses_.empty() && !without_errors([&] { await_uses(); })) return;
  pool_->blocks(stream_).release(bytes_, pool_->size_of_block(size_), use_);
}

void Memory::begin_use(int stream) {
  const std::lock_guard lock(using_);
  for (StreamCount& use : uses_)
    if (use.stream == stream) {
      use.count = StreamOrder::kAll;
      return;
    }
  uses_.push_back({stream, StreamOrder::kAll});
}

// Another thread of the same stream may have ended a later use before.
void Memory::end_use(int stream, std::uint64_t count) noexcept {
  const std::lock_guard lock(using_);
  for (StreamCount& use : uses_)
    if (use.stream == stream && (use.count == StreamOrder::kAll || use.count < count)) use.count = count;
}

// Nobody else has this memory now, so the uses need no lock. Where a wait throws they stay: the next call waits again.
void Memory::await_uses() {
  for (const StreamCount& use : uses_) pool_->order().wait(stream_, use.stream, use.count);
  uses_.clear();
}

bool Memory::ready() const {
  for (const Ref<DataCheck>& check : checks_)
    if (!check->ready()) return false;
  return true;
}

Failure* Memory::failure() {
  if (checks_.empty() || !ready()) return nullptr;
  return wait_for_checks().get();
}

Ref<Failure> Memory::wait_for_checks() {
  const std::lock_guard lock(mutex_);
  if (failure_) return failure_;
  for (const Ref<DataCheck>& check : checks_) failure_ = joined(failure_, check->failure());
  return failure_;
}

}  // namespace kiln::gpu
