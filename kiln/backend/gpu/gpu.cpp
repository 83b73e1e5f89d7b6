#include "kiln/backend/gpu/gpu.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <set>
#include <string>

#include "kiln/backend/gpu/custom.hpp"
#include "kiln/backend/gpu/family/family.hpp"
#include "kiln/backend/gpu/kernel/lower/lower.hpp"
#include "kiln/backend/gpu/order/stream_use.hpp"
#include "kiln/backend/gpu/results.hpp"
#include "kiln/backend/gpu/tune/parts.hpp"
#include "kiln/core/error/error.hpp"
#include "kiln/core/error/trace.hpp"
#include "kiln/core/setting/setting.hpp"
#include "kiln/ops/expand.hpp"
#include "kiln/ops/failure.hpp"
#include "kiln/ops/precision.hpp"
#include "kiln/ops/scope/fails_with.hpp"

namespace kiln::gpu {
namespace {

template <class T>
concept HasFamily = requires(Gpu& gpu, const T& op, Call call) {
  { family::run(gpu, op, call) } -> std::same_as<bool>;
};

class Read final : public PendingRead {
 public:
  struct GraphPart {
    TensorData data;
    Ref<Transfer> transfer;  // null for an empty tensor
    Value value;             // keeps alive what its contents depend on
  };
  explicit Read(std::vector<GraphPart> parts) : parts_(std::move(parts)) {}
  bool ready() const override {
    for (const GraphPart& part : parts_)
      if (part.transfer && !part.transfer->ready()) return false;
    return true;
  }
  std::vector<TensorData> wait() override {
    std::vector<TensorData> data;
    Ref<Failure> failure;
    for (GraphPart& part : parts_) {
      if (part.transfer) part.transfer->wait(part.data.bytes().data());
      failure = joined(failure, static_cast<Memory&>(*part.value.node()->storage).wait_for_checks());
      data.push_back(std::move(part.data));
    }
    if (failure) throw_failure(*failure);
    return data;
  }
  void notify(Wakeup then) override {
    // The device works in order: when the last transfer is done, all are.
    for (std::size_t i = parts_.size(); i-- > 0;)
      if (parts_[i].transfer) return parts_[i].transfer->notify(then);
    then();
  }

 private:
  std::vector<GraphPart> parts_;
};

/// Reports once per operation and reason.
void tell_once(const op::Op& op, std::string_view reason) {
  static std::mutex mutex;
  static std::set<std::string> told;
  const std::lock_guard lock(mutex);
  const std::string sentence = text(op::display_name(op), ": ", reason);
  if (told.insert(sentence).second) std::fprintf(stderr, "kiln: gpu: %s\n", sentence.c_str());
}

/// The custom operation that this thread is running.
struct RunningCustom {
  explicit RunningCustom(Gpu& gpu);
  ~RunningCustom();
  Gpu& gpu;
  RunningCustom* const before;
  bool replaces = false;  // has a result the memory of an operand?
  bool began = false;     // was a kernel launched after that?
};
thread_local RunningCustom* running = nullptr;
RunningCustom::RunningCustom(Gpu& gpu) : gpu(gpu), before(running) { running = this; }
RunningCustom::~RunningCustom() { running = before; }

/// Runs a custom operation's own kernel; errors get the name of the operation, so that the user finds it. Returns
/// false, as if there were none, where the device refuses it before an operand was changed.
bool run_custom(Gpu& gpu, const op::Op& as, const CustomOp& op, Call call) {
  const Results results(call.out);
  RunningCustom scope(gpu);
  try {
    return op.run(gpu.name(), call);
  } catch (const Refused& refused) {
    if (scope.began) fail<DeviceError>(op.name(), ": ", refused.message());
    results.restore();
    if (is_logged("gpu")) tell_once(as, refused.message());
    return false;
  } catch (const DeviceError& error) {
    fail<DeviceError>(op.name(), ": ", error.message());
  } catch (const ArgumentError& error) { fail<ArgumentError>(op.name(), ": ", error.message()); }
}

}  // namespace

Argument::Argument(const Scalar& number, DType dtype) : bits(0) {
  visit_dtype(expr::computed_in(dtype), [&](auto tag) {
    const auto value = number.to<typename decltype(tag)::type>();
    std::memcpy(&bits, &value, sizeof(value));
  });
}

Gpu* as_gpu(std::string_view backend) { return running && running->gpu.name() == backend ? &running->gpu : nullptr; }

Gpu::Gpu(Ref<Driver> driver, std::unique_ptr<Choices> choices)
    : pool_(make_ref<Pool>(std::move(driver))),
      choices_(choices ? std::move(choices)
                       : Choices::of(pool_->driver().identity(), [this] { pool_->driver().synchronize(); })),
      running_collectives_(pool_->driver(), pool_->order()) {
  if (is_set("KILN_TF32", false)) set_float32_precision(Float32Precision::High);
}

// ---- running -------------------------------------------------------------------------------------------------------

namespace {

/// Does the operation touch elements itself? The parts of op::Batched run by themselves.
bool touches_its_operands(const op::Op& op) { return !is_view(op) && !std::holds_alternative<op::Batched>(op.is); }

/// Results in memory of their own, or in that of an operand which the kernel wrote to.
void note_results(const op::Op& op, const Call& call) {
  const bool view = is_view(op);
  for (const Value& value : call.out) {
    const Ref<Storage>& storage = value.node()->storage;
    const auto shares = [&](const Value& operand) { return operand.node() && operand.node()->storage == storage; };
    if (storage && !(view && std::ranges::any_of(call.in, shares))) note_written(*storage);
  }
}

}  // namespace

void Gpu::run(const op::Op& op, Call call) {
  StreamOrder& order = pool_->order();
  if (order.current() != 0 && needs_ranks(op)) {  // collectives are ordered with the first stream
    const OnStream first(driver(), 0);
    return run(op, call);
  }
  if (touches_its_operands(op)) running_collectives_.wait_for_collective(call.in);
  const StreamUse use(call.in);
  std::optional<StreamAlone> alone;
  if (order.opened() > 1 && std::holds_alternative<op::Custom>(op.is)) alone.emplace(order);
  run_kernel(op, call);
  if (order.any()) note_results(op, call);
  if (std::vector<Ref<DataCheck>> checks = doubts(call.in); !checks.empty()) depend_on(call.out, checks);
}

/// Runs the op by its kernels. Returns false, with nothing done, if there are none for these operands. Where the device
/// cannot compute with the operands' types, the whole op runs on the host.
template <class T>
bool Gpu::run_family(const op::Op& op, const T& attributes, Call call) {
  const Results results(call.out);
  if constexpr (std::is_same_v<T, op::RowFused>)
    if (choices_->asks() && parts_are_quicker(*this, op, attributes, call,
                                              [&](Call trial) { return family::run(*this, attributes, trial); }))
      return false;
  try {
    return family::run(*this, attributes, call);
  } catch (const Refused& refused) {
    results.restore();
    if (is_logged("gpu")) tell_once(op, refused.message());
    if (refused.reason() == Refusal::Reason::Limit) return false;
    run_on_host(op, call);
    return true;
  }
}

// The device's library, and a kernel of a user's own, ask Float32Precision::said() for the op's precision.
void Gpu::run_kernel(const op::Op& op, Call call) {
  const auto precision = op::precision_of(op);
  const Float32Precision own(precision == Float32Precision::High ? precision : Float32Precision::Highest);
  op::visit(op, [&]<class T>(const T& o) {
    if constexpr (std::is_same_v<T, op::Custom>) {
      if (!run_custom(*this, op, *o.op, call)) run_expansion(*this, op, call);
    } else {
      if constexpr (HasFamily<T>)
        if (run_family(op, o, call)) return;
      if constexpr (op::Composite<T>) run_expansion(*this, op, call);
      else run_on_host(op, call);
    }
  });
}

bool Gpu::has_kernel(const op::Op& op) const {
  return op::visit(
      op, []<class T>(const T&) { return HasFamily<T> || !op::Composite<T> || std::is_same_v<T, op::Custom>; });
}

// Runs on the plain CPU backend, without its decorators: the thread's scopes belong to the program, not to this call.
void Gpu::run_on_host(const op::Op& op, Call call) {
  if (is_logged("gpu")) tell_once(op, "runs on the host");
  Ref<Backend> core;
  Device::cpu().backend().with_core([&](Ref<Backend> found) { return core = std::move(found); });
  const Device host(core);
  Values in, out;
  for (const Value& value : call.in)
    in.push_back(value.node() ? Value(host.backend().upload(download(value), host)) : value);
  for (const Value& value : call.out) out.emplace_back(make_ref<Node>(value.node()->desc, host));
  run_or_expand(*core, op, {in, out});
  for (std::size_t i = 0; i < out.size(); ++i) {
    const TensorData data = out[i].data();
    driver().upload(allocate(call.out[i]).data, data.bytes());
  }
}

// ---- data ----------------------------------------------------------------------------------------------------------

Ref<Node> Gpu::upload(TensorData data, const Device& device) {
  Value value(make_ref<Node>(Desc{data.shape(), data.dtype()}, device));
  const Array array = allocate(value, MemoryUse::Upload);
  driver().upload(array.data, std::as_const(data).bytes());
  note_written(*value.node()->storage);
  return value.node();
}

TensorData Gpu::download(const Value& value) { return std::move(start_read({&value, 1})->wait()[0]); }

Ref<PendingRead> Gpu::start_read(Inputs values) {
  running_collectives_.wait_for_collective(values);
  const StreamUse use(values);
  std::vector<Read::GraphPart> parts;
  for (const Value& value : values) {
    Value held;
    const Array array = read_contiguous(value, held);
    TensorData data(array.shape, array.dtype);
    const std::size_t bytes = data.bytes().size();
    parts.push_back({std::move(data), bytes ? driver().download(array.data, bytes) : nullptr, value});
  }
  return make_ref<Read>(std::move(parts));
}

void Gpu::sync() {
  driver().flush();
  lent_.free_copied();
  start_checks(true);
  running_collectives_.await_all();
  driver().synchronize();
  settle_checks(true);
  unreported_.throw_all();
}

// ---- memory --------------------------------------------------------------------------------------------------------

void Gpu::release_memory() {
  running_collectives_.await_all();
  lent_.await_all();
  pool_->release_unused();
}

Array Gpu::allocate(Value& result, MemoryUse use) { return allocate(result, contiguous_strides(result.shape()), use); }

Array Gpu::allocate(Value& result, const Dims& strides, MemoryUse use) {
  Node& node = *result.node();
  if (node.storage && strided::same_order(node.desc.shape, node.strides, strides)) return read(result);
  const std::size_t bytes = strided::bytes_of(node.desc, name());
  const Purpose purpose{.use = use, .desc = &node.desc};
  while (true) {
    const std::uint64_t returns = driver().budget().returns();
    try {
      node.storage = make_ref<Memory>(pool_, bytes, purpose);
      break;
    } catch (const MemoryError&) {
      // Otherwise the memory of the collectives, or what others copied or do not use, is free now, unless another thread
      // takes it.
      if (!running_collectives_.await_all() && !lent_.await_all() &&
          !pool_->release_others(pool_->order().current(), returns))
        throw;
    }
  }
  node.strides = strides;
  node.offset = 0;
  return read(result);
}

bool Gpu::take_memory(Value& result, const Dims& strides, const Call& call, std::size_t i) {
  if (!strided::may_reuse(result, strides, call, i)) return false;
  auto& memory = static_cast<Memory&>(*call.in[i].node()->storage);
  if (memory.stream() != pool_->order().current()) return false;
  memory.await_uses();
  strided::alias(result, call.in[i], strides, 0);
  if (running && &running->gpu == this) running->replaces = true;
  return true;
}

Value Gpu::scratch(const Desc& desc) {
  Value value(make_ref<Node>(desc, Device(Ref<Backend>(this))));
  allocate(value, MemoryUse::Scratch);
  return value;
}

Array Gpu::read_contiguous(const Value& value, Value& held) {
  return strided::read_contiguous(value, held, [this](const Array& from) { return copied(from); });
}

Array Gpu::read_aligned(const Value& value, Value& held) {
  const Array array = read_contiguous(value, held);
  if (is_aligned(array)) return array;
  held = copied(array);
  return read(held);
}

Ref<Storage> Gpu::upload_table(DType dtype, std::span<const std::byte> bytes) {
  const Value value = scratch({Shape{static_cast<std::int64_t>(bytes.size() / size_of(dtype))}, dtype});
  driver().upload(read(value).data, bytes);
  note_written(*value.node()->storage);
  return value.node()->storage;
}

// A table stays as long as the device: nobody needs to know who has used it.
const std::byte* Gpu::table(const Storage& storage) {
  const auto& memory = static_cast<const Memory&>(storage);
  pool_->order().wait(pool_->order().current(), memory.stream(), memory.written());
  return memory.bytes();
}

Value Gpu::copied(const Array& array) {
  Value copy = scratch({array.shape, array.dtype});
  family::copy(*this, array, read(copy));
  return copy;
}

// ---- kernels -------------------------------------------------------------------------------------------------------

const void* Gpu::find_cached(const Signature& signature) const {
  const std::shared_lock lock(mutex_);
  const auto known = made_.find(signature);
  return known == made_.end() ? nullptr : known->second.value.get();
}

const void* Gpu::keep_cached(const Signature& signature, std::shared_ptr<const void> value) {
  const std::unique_lock lock(mutex_);
  StoredSignature own(signature);
  const Signature key = own.get();  // lives as long as the entry: it refers to memory that `own` owns
  return made_.try_emplace(key, CachedObject{std::move(own), std::move(value)}).first->second.value.get();
}

void Gpu::launch(const Code& code, std::int64_t blocks, std::span<const Argument> arguments) {
  static_assert(sizeof(Argument) == sizeof(std::uint64_t));
  if (running && &running->gpu == this && running->replaces) running->began = true;
  driver().launch(code, blocks, {&arguments.data()->bits, arguments.size()});
}

namespace {

/// Lowers the kernel for a device; returns the reason if it cannot run what is left.
std::optional<Refusal> lower_for(const Capabilities& has, const std::string& name, Kernel& kernel) {
  const bool has_doubles = std::ranges::find(kernel.values, DType::F64) != kernel.values.end();
  try {
    kernel = lowered(kernel, has);
    return refusal_of(kernel, has, name);
  } catch (const DeviceError& error) {
    return Refusal{has_doubles && !has.computes.has(DType::F64) ? Refusal::Reason::Type : Refusal::Reason::Limit,
                   text(name, ": ", error.message())};
  }
}

}  // namespace

/// The one place where kernels meet the device: they are lowered, checked against its capabilities, and compiled.
std::shared_ptr<const Gpu::Compiled> Gpu::compile(const Kernel& kernel) const {
  Kernel made = kernel;
  std::optional<Refusal> refusal = lower_for(driver().capabilities(), name(), made);
  Ref<Code> code;
  try {
    if (!refusal) code = driver().compile(made);
  } catch (const Refused& refused) {  // by the device's own compiler
    refusal = Refusal{refused.reason(), std::string(refused.message())};
  }
  return std::make_shared<const Compiled>(Compiled{std::move(code), std::move(refusal)});
}

// A text that does not compile is the user's mistake: the operation does not run in another way.
std::shared_ptr<const Gpu::Compiled> Gpu::compile(const TextKernel& kernel) const {
  TextCompiler* const texts = driver().texts();
  const std::string_view own = texts ? gpu::name(texts->language()) : "no text";
  require<DeviceError>(takes(kernel.language), name(), " takes ", own, ", and kernel ", kernel.name, " is ",
                       gpu::name(kernel.language));
  require<DeviceError>(kernel.parameters() <= kMostArguments, "kernel ", kernel.name, " has ", kernel.parameters(),
                       " parameters, at most ", kMostArguments, " can be given");
  try {
    return std::make_shared<const Compiled>(Compiled{texts->compile_text(kernel), std::nullopt});
  } catch (const Refused& refused) { fail<DeviceError>(refused.message()); }
}

}  // namespace kiln::gpu
