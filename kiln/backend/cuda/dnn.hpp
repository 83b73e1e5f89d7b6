// cuDNN on a stream: each request is described to it once, and the plan that was chosen is cached.
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "kiln/backend/cuda/cudnn_graph.hpp"
#include "kiln/backend/cuda/driver_api.hpp"
#include "kiln/backend/streams/memory.hpp"
#include "kiln/core/reflect/signature.hpp"

namespace kiln::cuda {

class Dnn {
 public:
  Dnn(Ref<Stream> stream, MemoryBudget& budget);
  ~Dnn();

  using Plan = cudnn::Plan;
  using Addresses = std::span<void* const>;  // addresses of the operands of a plan's graph
  /// Decides by the numerical notes of an engine whether it may be used.
  using MayBe = FunctionRef<bool(std::span<const cudnn::Note>)>;

  /// The cached plan for `question`, a plain struct whose type is used for nothing else; make(graph) builds its graph,
  /// and `name` describes it in the log. Null if cuDNN is missing, which is reported once, is disabled, or does not
  /// support it. If `workspace` is not 0, the caller of run() provides a workspace of that many bytes.
  template <Plain Question>
  const Plan* find(const Question& question, FunctionRef<void(cudnn::Graph&)> make, MayBe may_be,
                   FunctionRef<std::string()> name, std::int64_t workspace = 0) {
    return find(Signature(question), make, may_be, name, workspace);
  }
  /// False if it is known to be missing, or disabled.
  bool is_there();
  /// Must results be reproducible, bit for bit?
  bool deterministic() const { return deterministic_; }
  /// Has the plan run? Then it can be queued, and will not fail.
  bool proven(const Plan& plan);
  /// Runs the plan for the first time. Returns false if it fails; then find() returns null from then on.
  bool prove(const Plan& plan, Addresses addresses, Address workspace = 0);
  /// Throws DeviceError if the plan fails.
  void run(const Plan& plan, Addresses addresses, Address workspace = 0);

  /// The most bytes of workspace that a plan may need if the caller provides none.
  static constexpr std::int64_t kWorkspace = std::int64_t{256} << 20;

 private:
  const Plan* find(const Signature& signature, FunctionRef<void(cudnn::Graph&)> make, MayBe may_be,
                   FunctionRef<std::string()> name, std::int64_t workspace);
  /// A plan that was made; null: not supported.
  struct Known {
    StoredSignature signature;
    std::unique_ptr<Plan> plan;
    bool lacks_room = false;       // for its workspace
    std::uint64_t refused_at = 0;  // budget_.returns() when there was none
  };
  bool open();
  bool reserve_workspace(std::int64_t least);
  Known made(const Signature& signature, FunctionRef<void(cudnn::Graph&)> make, MayBe may_be,
             FunctionRef<std::string()> name, std::int64_t workspace);
  /// Asks for a workspace again if memory was given back since. False where there is still none at all.
  bool finds_room(Known& known);
  cudnn::Status start(const Plan& plan, Addresses addresses, Address workspace);

  const Ref<Stream> stream_;
  MemoryBudget& budget_;
  const bool wanted_, deterministic_, logs_;
  std::mutex mutex_;
  const cudnn::Api* api_ = nullptr;  // loaded on first use
  bool missing_ = false;
  cudnn::Handle handle_ = nullptr;
  streams::Workspace workspace_;  // reserved when a plan needs one
  struct Hash {
    std::size_t operator()(const Signature& signature) const { return signature.hash(); }
  };
  std::unordered_map<Signature, Known, Hash> plans_;
};

}  // namespace kiln::cuda
