// Combines gradients of several ranks while the others are still being computed.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/nn/gradients.hpp"
#include "kiln/ops/collective/communicator.hpp"
#include "kiln/ops/index/index.hpp"

namespace kiln::training {

/// The buckets of one step. Gradients are sent in buckets of some megabytes, from the last parameter to the first, as
/// backward() reaches them. The assignment to buckets depends on the model alone, and a bucket starts after those
/// before it, so that all ranks make the same calls, whichever parameters took part on each.
class Buckets {
 public:
  /// Are gradients of half types sent and returned as halves, or in float32?
  enum class Halves { AsTheyAre, InFloat32 };

  Buckets(Ranks among, Combine how, const nn::ModuleView& model, Halves halves);
  /// Adds this rank's gradient of a parameter, once for each that took part here: starts the buckets that are complete
  /// by it. Does nothing for a parameter that is not trained.
  void add(std::string_view path, const Value& grad);
  /// Starts the remaining buckets, with zeros for parameters that took no part here.
  void start_rest();
  /// Starts the remaining buckets if start_rest() was not called, and returns the gradients of all ranks, without
  /// parameters that took part nowhere. Called once.
  GradientsParams finish();

 private:
  struct Param {
    std::string path;
    Desc desc;  // describes the tensor that is sent
    Device device;
    bool here = false;  // did it take part on this rank?
    Value grad{};       // until its bucket starts
  };
  struct Bucket {
    std::size_t begin, end, missing;  // its parameters; how many of their gradients are missing
    Value total{};                    // set when it starts
  };
  void start(Bucket& bucket);

  const Ranks among_;
  const Combine how_;
  std::vector<Param> params_;
  std::map<std::string_view, std::size_t> places_;  // indices in params_, which does not change
  std::vector<Bucket> buckets_;
  std::size_t started_ = 0;
};

/// For tests and measurements: from now on no bucket of several parameters has more bytes; 0: the default. Must not be
/// called while buckets are running, and must be the same on all ranks.
void limit_buckets(std::int64_t most_bytes);

}  // namespace kiln::training
