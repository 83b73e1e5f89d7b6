// cuDNN on a stream: what it is asked for is described to it once, and the plan kept that was chosen.
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "kiln/backend/cuda/cudnn_graph.hpp"
#include "kiln/backend/cuda/stream.hpp"
#include "kiln/core/reflect/signature.hpp"

namespace kiln::cuda {

class Dnn {
 public:
  explicit Dnn(Ref<Stream> stream);
  ~Dnn();

  using Plan = cudnn::Plan;
  using Addresses = std::span<void* const>;  // of the operands of a plan's graph
  /// What may be chosen is asked for by the numerical notes of engines.
  using MayBe = FunctionRef<bool(std::span<const cudnn::Note>)>;

  /// The plan for `question`, a plain struct of a type that stands for this use alone, of whose graph `make(graph)` makes
  /// one; `name` tells of it in the log. Null where cuDNN is missing, which is said once, is not wanted or does not know
  /// how. Where `room` is not 0, whoever runs it brings a workspace of so many bytes.
  template <Plain Question>
  const Plan* find(const Question& question, FunctionRef<void(cudnn::Graph&)> make, MayBe may_be,
                   FunctionRef<std::string()> name, std::int64_t room = 0) {
    return find(Signature(question), make, may_be, name, room);
  }
  /// False where it is missing, as far as is known yet, or not wanted.
  bool is_there();
  /// May products of float32 lose digits?
  bool tf32() const { return tf32_; }
  /// Must the same come out each time, to the bit?
  bool deterministic() const { return deterministic_; }
  /// Has it run? It can be asked for later, then, and will not fail.
  bool proven(const Plan& plan);
  /// Runs it for the first time. False where it fails, and from then on it is not known how.
  bool prove(const Plan& plan, Addresses addresses, Address workspace = 0);
  /// Throws DeviceError where it fails.
  void run(const Plan& plan, Addresses addresses, Address workspace = 0);

  /// Bytes, the most that a plan may need beside its operands where nobody brings more.
  static constexpr std::int64_t kWorkspace = std::int64_t{256} << 20;

 private:
  const Plan* find(const Signature& signature, FunctionRef<void(cudnn::Graph&)> make, MayBe may_be,
                   FunctionRef<std::string()> name, std::int64_t room);
  bool open();
  bool reserve_workspace(std::int64_t least);
  cudnn::Status start(const Plan& plan, Addresses addresses, Address workspace);

  const Ref<Stream> stream_;
  const bool wanted_, tf32_, deterministic_, logs_;
  std::mutex mutex_;
  const cudnn::Api* api_ = nullptr;  // since something was asked for
  bool missing_ = false;
  cudnn::Handle handle_ = nullptr;
  Address workspace_ = 0;  // since a plan needs one
  std::int64_t workspace_bytes_ = 0;
  struct Hash {
    std::size_t operator()(const Signature& signature) const { return signature.hash(); }
  };
  std::unordered_map<Signature, std::pair<OwnSignature, std::unique_ptr<Plan>>, Hash> plans_;  // null: not known how
};

}  // namespace kiln::cuda
