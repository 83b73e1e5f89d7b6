// Checks of data that kernels were given: cells that kernels write, and results that are right only if they did not.
#include <algorithm>

#include "kiln/backend/gpu/gpu.hpp"
#include "kiln/core/error/trace.hpp"
#include "kiln/ops/failure.hpp"
#include "kiln/ops/scope/fails_with.hpp"

namespace kiln::gpu {
namespace {

/// Adds the checks that a memory depends on and that have not passed yet.
void add_open(std::vector<Ref<DataCheck>>& checks, const Memory& memory) {
  for (const Ref<DataCheck>& check : memory.checks())
    if (!check->passed() && std::ranges::find(checks, check) == checks.end()) checks.push_back(check);
}

}  // namespace

/// The checks of operands and of enclosing FailsWith scopes that have not passed: results depend on all of them.
std::vector<Ref<DataCheck>> Gpu::doubts(Inputs operands) const {
  std::vector<Ref<DataCheck>> checks;
  for (const Value& value : operands)
    if (value.node()) add_open(checks, static_cast<const Memory&>(*value.node()->storage));
  for (const FailsWith* scope = FailsWith::innermost(); scope; scope = scope->outer())
    for (const Value& cause : scope->causes())
      // Memory of another device has been checked there.
      if (const auto* memory = cause.node() ? dynamic_cast<const Memory*>(cause.node()->storage.get()) : nullptr)
        add_open(checks, *memory);
  return checks;
}

/// The results depend on these checks, too.
void Gpu::depend_on(std::span<const Value> results, std::span<const Ref<DataCheck>> checks) {
  for (const Value& value : results) {
    auto& memory = static_cast<Memory&>(*value.node()->storage);
    std::vector<Ref<DataCheck>> all(checks.begin(), checks.end());
    add_open(all, memory);
    memory.depend_on(std::move(all));
  }
}

Value Gpu::check_cell(std::int64_t places) {
  const bool wide = driver().capabilities().updates.has(DType::I64);
  if (constexpr std::int64_t kMost = std::int64_t{1} << 31; !wide && places > kMost)
    throw Refused(
        {Refusal::Reason::Limit,
         text(name(), ": ", places, " places must be checked, and the device's 32-bit cells name at most ", kMost)});
  Value cell = scratch({Shape{1}, wide ? DType::I64 : DType::U32});
  driver().clear(read(cell).data, size_of(cell.dtype()));
  return cell;
}

void Gpu::check(const Value& cell, Call call, std::function<std::exception_ptr(std::int64_t)> tell) {
  std::vector<Ref<DataCheck>> before = doubts(call.in);
  // Operands of FailsWith may not be computed yet, but the checks of what they are computed from are in checks_.
  if (FailsWith::any()) {
    const std::unique_lock lock(mutex_);
    for (const Ref<DataCheck>& each : checks_)
      if (each->requester() == Requester::current()) before.push_back(each);
  }
  // The error is made when the cell has been read, by whoever reads a result.
  auto tell_calls = [tell = std::move(tell), calls = CalledFrom::calls()](std::int64_t found) {
    const auto with_lines = [&](std::string_view said) { return text(without_calls(said), lines_of(calls)); };
    return attempt([&] { std::rethrow_exception(tell(found)); }, with_lines)->error;
  };
  const auto check = make_ref<DataCheck>(cell, std::move(tell_calls), std::move(before));
  depend_on(call.out, {&check, 1});
  const std::unique_lock lock(mutex_);
  checks_.push_back(check);
}

void Gpu::flush() {
  driver().flush();
  lent_.free_copied();
  start_checks(false);
  settle_checks(false);
}

/// Reads cells back, once all kernels have been submitted, because a read interrupts them. `all`: also those of streams
/// that other threads have, for which this one's would have to wait.
void Gpu::start_checks(bool all) {
  StreamOrder& order = pool_->order();
  const std::lock_guard settling(settling_);
  std::vector<Ref<DataCheck>> checks;
  {
    const std::unique_lock lock(mutex_);
    const auto are_others = std::stable_partition(checks_.begin(), checks_.end(), [&](const Ref<DataCheck>& check) {
      return all || check->stream() == order.current() || !order.is_open(check->stream());
    });
    checks.assign(std::move_iterator(checks_.begin()), std::move_iterator(are_others));
    checks_.erase(checks_.begin(), are_others);
  }
  pending_checks_.insert(pending_checks_.end(), checks.begin(), checks.end());
  for (const Ref<DataCheck>& check : checks) check->start();
}

/// Collects failures for sync(), which reports them even if no value that depends on them is left. `all`: waits.
void Gpu::settle_checks(bool all) {
  const std::lock_guard settling(settling_);
  while (!pending_checks_.empty() && (all || pending_checks_.front()->ready())) {
    const Ref<DataCheck> check = std::move(pending_checks_.front());
    pending_checks_.pop_front();
    unreported_.note(check->failure(), check->requester());
  }
}

}  // namespace kiln::gpu
