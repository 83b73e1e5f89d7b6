#include "kiln/backend/gpu/memory.hpp"

#include <algorithm>
#include <utility>

#include "kiln/backend/memory/environment_limit.hpp"
#include "kiln/core/error/error.hpp"

namespace kiln::gpu {
namespace {

std::size_t limit_of(const Driver& driver) {
  const auto there = static_cast<std::size_t>(driver.capabilities().memory);
  return std::min(there, environment_memory_limit().value_or(there));
}

}  // namespace

Pool::Pool(Ref<Driver> driver)
    : driver_(std::move(driver)), blocks_(limit_of(*driver_), driver_->memory(), MemoryPool::Order::LowestFirst) {}

std::size_t Pool::size_of_block(std::size_t bytes) const {
  const Capabilities& has = driver_->capabilities();
  if (!has.separate_bindings) return bytes;
  const auto step = static_cast<std::size_t>(has.binding_alignment);
  return (std::max(bytes, std::size_t{1}) + step - 1) / step * step;
}

// ---- checks --------------------------------------------------------------------------------------------------------

DataCheck::DataCheck(Value cell, std::function<std::exception_ptr(std::int64_t)> tell,
                     std::vector<Ref<DataCheck>> before)
    : tell_(std::move(tell)), before_(std::move(before)), cell_(std::move(cell)) {}

void DataCheck::start() {
  const std::lock_guard lock(mutex_);
  start_locked();
}

void DataCheck::start_locked() {
  if (cell_.empty()) return;
  const Array array = read(cell_);
  narrow_ = array.dtype == DType::U32;
  transfer_ = static_cast<Memory&>(*cell_.node()->storage).pool().driver().download(array.data, size_of(array.dtype));
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
    : Block(pool->blocks().acquire(pool->size_of_block(bytes), purpose), bytes, purpose.use), pool_(std::move(pool)) {
  if (bytes_) {
    pool_->driver().acquired(bytes_, size_);
    return;
  }
  const std::string what = purpose.desc ? text("a tensor ", purpose.desc->dtype, " ", purpose.desc->shape) : "a kernel";
  fail<MemoryError>(pool_->driver().name(), ": ", what, " needs ", bytes, " bytes (",
                    text_of_bytes(static_cast<std::int64_t>(bytes)), "), for which there is no room; ",
                    pool_->blocks().report());
}

Memory::~Memory() {
  pool_->driver().released(bytes_, size_);
  pool_->blocks().release(bytes_, pool_->size_of_block(size_), use_);
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
