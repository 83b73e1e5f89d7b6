#include "kiln/backend/cuda/dnn.hpp"

#include <cstdio>

#include "kiln/backend/cuda/cublas.hpp"
#include "kiln/core/setting/setting.hpp"

namespace kiln::cuda {

Dnn::Dnn(Ref<Stream> stream, MemoryBudget& budget)
    : stream_(std::move(stream)),
      budget_(budget),
      wanted_(is_set("KILN_CUDNN", true)),
      deterministic_(is_set("KILN_DETERMINISTIC", true)),
      logs_(is_logged("cuda")),
      workspace_(stream_, budget) {}

Dnn::~Dnn() {
  stream_->last_api();  // enters the device's context
  plans_.clear();
  if (handle_) api_->destroy(handle_);
}

bool Dnn::is_there() {
  const std::lock_guard lock(mutex_);
  return wanted_ && !missing_;
}

bool Dnn::open() {
  if (handle_) return true;
  try {
    (void)cublas::api();  // cuDNN ends the program if cuBLAS is missing
    api_ = &cudnn::api();
    const cudnn::Status status = api_->create(&handle_);
    require<DeviceError>(status == 0, "cuda: cuDNN does not start: ", api_->get_error_string(status));
    const cudnn::Status stream = api_->set_stream(handle_, stream_->handle());
    require<DeviceError>(stream == 0, "cuda: cuDNN does not take a stream: ", api_->get_error_string(stream));
  } catch (const Error& error) {
    std::fprintf(stderr, "kiln: convolutions and attention are slow: %s\n", error.what());
    missing_ = true;
    if (handle_) api_->destroy(handle_);
    handle_ = nullptr;
  }
  return !missing_;
}

// The device works in order, so all plans share one workspace. It is never moved, since graphs contain its address.
bool Dnn::reserve_workspace(std::int64_t least) {
  for (std::int64_t bytes = kWorkspace; !workspace_.bytes() && bytes >= least; bytes /= 2)
    (void)workspace_.reserve(static_cast<std::size_t>(bytes));
  return workspace_.bytes() >= static_cast<std::size_t>(least);
}

const Dnn::Plan* Dnn::find(const Signature& signature, FunctionRef<void(cudnn::Graph&)> make, MayBe may_be,
                           FunctionRef<std::string()> name, std::int64_t workspace) {
  const std::lock_guard lock(mutex_);
  if (!wanted_ || missing_) return nullptr;
  auto found = plans_.find(signature);
  if (found != plans_.end() && found->second.lacks_room) {
    stream_->api();
    if (!finds_room(found->second)) return nullptr;
    if (found->second.lacks_room) found = (plans_.erase(found), plans_.end());  // another engine may need less
  }
  if (found == plans_.end()) {
    stream_->api();
    if (!open()) return nullptr;
    Known known = made(signature, make, may_be, name, workspace);
    const Signature key = known.signature.get();
    found = plans_.try_emplace(key, std::move(known)).first;
  }
  const Known& known = found->second;
  return known.plan && !known.plan->refused && !known.lacks_room ? known.plan.get() : nullptr;
}

Dnn::Known Dnn::made(const Signature& signature, FunctionRef<void(cudnn::Graph&)> make, MayBe may_be,
                     FunctionRef<std::string()> name, std::int64_t workspace) {
  cudnn::Graph graph(*api_);
  make(graph);
  const auto own = static_cast<std::int64_t>(workspace_.bytes());
  const std::int64_t most = workspace ? workspace : own ? own : kWorkspace;
  Known known{StoredSignature(signature), std::make_unique<Plan>(std::move(graph), handle_, most, may_be)};
  const Plan& plan = *known.plan;
  if (plan.known() && !workspace && plan.workspace_bytes() > 0) {
    known.refused_at = budget_.returns();
    known.lacks_room = !reserve_workspace(plan.workspace_bytes());
  }
  if (logs_)
    std::fprintf(stderr, "kiln: %s: %s: %s %lld, workspace %lld\n", stream_->device().c_str(), name().c_str(),
                 !plan.known()      ? "not known,"
                 : known.lacks_room ? "no room for engine"
                                    : "engine",
                 static_cast<long long>(plan.engine()), static_cast<long long>(plan.workspace_bytes()));
  if (!plan.known()) known.plan = nullptr;
  return known;
}

bool Dnn::finds_room(Known& known) {
  const std::uint64_t returns = budget_.returns();
  if (!workspace_.bytes() && known.refused_at == returns) return false;
  known.refused_at = returns;
  known.lacks_room = !reserve_workspace(known.plan->workspace_bytes());
  return workspace_.bytes() > 0;
}

bool Dnn::proven(const Plan& plan) {
  const std::lock_guard lock(mutex_);
  return plan.proven;
}

bool Dnn::prove(const Plan& plan, Addresses addresses, Address workspace) {
  const std::lock_guard lock(mutex_);
  const cudnn::Status status = start(plan, addresses, workspace);
  plan.proven |= status == 0;
  plan.refused |= status != 0;
  if (status && logs_)
    std::fprintf(stderr, "kiln: %s: cudnnBackendExecute: %s\n", stream_->device().c_str(),
                 api_->get_error_string(status));
  return status == 0;
}

void Dnn::run(const Plan& plan, Addresses addresses, Address workspace) {
  const std::lock_guard lock(mutex_);
  const cudnn::Status status = start(plan, addresses, workspace);
  require<DeviceError>(status == 0, stream_->device(), ": cudnnBackendExecute: ", api_->get_error_string(status));
}

cudnn::Status Dnn::start(const Plan& plan, Addresses addresses, Address workspace) {
  stream_->api();
  static const std::string kName = "cudnnBackendExecute";
  stream_->note(kName);
  return plan.run(addresses, workspace ? workspace : workspace_.address());
}

}  // namespace kiln::cuda
