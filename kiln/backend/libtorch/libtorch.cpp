#include "kiln/backend/libtorch/libtorch.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include <mutex>
#include <optional>
#include <set>

#include "kiln/backend/cpu/family.hpp"
#include "kiln/backend/libtorch/allocator.hpp"
#include "kiln/backend/libtorch/kernels.hpp"
#include "kiln/backend/libtorch/runs.hpp"
#include "kiln/backend/libtorch/silence.hpp"
#include "kiln/backend/libtorch/tensor.hpp"
#include "kiln/core/setting/setting.hpp"
#include "kiln/ops/expand.hpp"
#include "kiln/ops/fusion_traits.hpp"
#include "kiln/ops/op.hpp"

namespace kiln::libtorch {
namespace {

struct Counted {
  std::mutex mutex;
  std::map<std::string, Runs> runs;
};
Counted& counted() {
  static auto& all = *new Counted();  // counted until the process ends
  return all;
}

void count(const op::Op& op, std::int64_t Runs::* way) {
  Counted& all = counted();
  const std::lock_guard lock(all.mutex);
  ++(all.runs[std::string(op::function_name(op))].*way);
}

/// Reports once per operation.
void tell_once(const op::Op& op, std::string_view way, std::string_view reason) {
  if (!is_logged("libtorch")) return;
  static std::mutex mutex;
  static auto& told = *new std::set<std::string>();
  const std::string sentence = text(op::display_name(op), reason, " runs by ", way);
  const std::lock_guard lock(mutex);
  if (told.insert(sentence).second) std::fprintf(stderr, "kiln: libtorch: %s\n", sentence.c_str());
}

void note_other(const op::Op& op, std::string_view reason) {
  const bool expands = is_composite(op);
  count(op, expands ? &Runs::expanded : &Runs::reference);
  tell_once(op, expands ? "its expansion" : "Kiln's reference kernel", reason);
}

/// A call that goes past ATen for what its tensors are, or nothing. ATen refuses some tensors without elements.
std::optional<std::string> reason_of(Call call) {
  for (const auto values : {call.in, Inputs(call.out)})
    for (const Value& value : values) {
      if (!value.node()) continue;
      if (!has_type(value.dtype())) return text(" of ", value.dtype());
      if (value.numel() == 0) return " of no elements";
    }
  return {};
}

/// Lets ATen use as many threads as Kiln would, and keep no records for gradients of its own.
struct Setting {
  Setting() {
    if (const int wanted = num_threads(); at::get_num_threads() != wanted) at::set_num_threads(wanted);
  }
  c10::InferenceMode inference;
  Silence silence;
};

/// Runs a kernel; an error of ATen becomes one of Kiln. Errors of memory are Kiln's already: the pool throws them.
bool run_kernel(const op::Op& op, FunctionRef<bool()> kernel) {
  try {
    const Setting setting;
    return kernel();
  } catch (const Error&) { throw; } catch (const std::bad_alloc&) {
    throw;
  } catch (const c10::Error& error) {
    fail<DeviceError>("libtorch: ", op::function_name(op), ": ", error.what_without_backtrace());
  } catch (const std::exception& error) { fail<DeviceError>("libtorch: ", op::function_name(op), ": ", error.what()); }
}

using Run = decltype([]<class T>(const T& op, Call call) -> decltype(libtorch::run(op, call)) {
  return libtorch::run(op, call);
});

bool run(const op::Op& op, Call call) {
  return op::visit(op, [&]<class T>(const T& o) -> bool {
    if constexpr (std::is_invocable_v<Run, const T&, Call>) return run_kernel(op, [&] { return Run{}(o, call); });
    else return false;
  });
}

cpu::FastKernels kernels() {
  cpu::FastKernels kernels = cpu::family(Run{});
  kernels.run = [](const op::Op& op, Call call) {
    const std::optional<std::string> reason = reason_of(call);
    const bool done = !reason && run(op, call);
    if (done) count(op, &Runs::aten);
    else note_other(op, reason.value_or(""));
    return done;
  };
  return kernels;
}

}  // namespace

LibTorch::LibTorch() : Cpu("libtorch", {kernels()}) { use_pool(); }

bool LibTorch::has_kernel(const op::Op& op) const {
  const bool has = Cpu::has_kernel(op);
  if (!has) note_other(op, "");
  return has;
}

FusionTraits LibTorch::fusion_traits() const { return LeafBackend::fusion_traits(); }

std::map<std::string, Runs> runs() {
  Counted& all = counted();
  const std::lock_guard lock(all.mutex);
  return all.runs;
}

}  // namespace kiln::libtorch
