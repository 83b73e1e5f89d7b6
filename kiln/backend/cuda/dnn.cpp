#include "kiln/backend/cuda/dnn.hpp"

#include <cstdio>

#include "kiln/backend/cuda/cublas.hpp"
#include "kiln/core/setting/setting.hpp"

namespace kiln::cuda {

Dnn::Dnn(Ref<Stream> stream, MemoryBudget& budget)
    : stream_(std::move(stream)),
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
  auto known = plans_.find(signature);
  if (known == plans_.end()) {
    stream_->api();
    if (!open()) return nullptr;
    cudnn::Graph graph(*api_);
    make(graph);
    auto plan = std::make_unique<Plan>(std::move(graph), handle_, workspace ? workspace : kWorkspace, may_be);
    const bool lacks = !workspace && plan->workspace_bytes() > 0;
    const bool good = plan->known() && (!lacks || reserve_workspace(plan->workspace_bytes()));
    if (logs_)
      std::fprintf(stderr, "kiln: %s: %s: %s %lld, workspace %lld\n", stream_->device().c_str(), name().c_str(),
                   good ? "engine" : "not known,", static_cast<long long>(plan->engine()),
                   static_cast<long long>(plan->workspace_bytes()));
    if (!good) plan = nullptr;
    StoredSignature own(signature);
    const Signature key = own.get();
    known = plans_.try_emplace(key, std::move(own), std::move(plan)).first;
  }
  const Plan* const plan = known->second.second.get();
  return plan && !plan->refused ? plan : nullptr;
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
