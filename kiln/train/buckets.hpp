// Gradients of several ranks, combined while the rest of them is still being computed.
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

/// Of one step. Parameters travel in buckets of some megabytes, from the last to the first, as backward() comes to them. Which
/// bucket has which depends on the model alone, and a bucket starts after those before it, so that all ranks come to the same
/// calls, whatever took part on each.
class Buckets {
 public:
  /// Do halves travel, and are they told, as what they are?
  enum class Halves { AsTheyAre, InFloat32 };

  Buckets(Ranks among, Combine how, const nn::ModuleView& model, Halves halves);
  /// What this rank has of a parameter, once of each that took part here: starts the buckets that are complete by it. Of one
  /// that is not trained, nothing happens.
  void add(std::string_view path, const Value& grad);
  /// Starts the rest, with zeros for what took no part here.
  void start_rest();
  /// The same if that has not been done, and gives all ranks' gradients, without those of parameters that took part nowhere.
  /// Called once.
  GradientsParams finish();

 private:
  struct Param {
    std::string path;
    Desc desc;  // as it travels
    Device device;
    bool here = false;  // did it take part on this rank?
    Value grad{};       // from then until it is on its way
  };
  struct Bucket {
    std::size_t begin, end, missing;  // of parameters
    Value total{};                    // once it has started
  };
  void start(Bucket& bucket);

  const Ranks among_;
  const Combine how_;
  std::vector<Param> params_;
  std::map<std::string_view, std::size_t> places_;  // in params_, which stay
  std::vector<Bucket> buckets_;
  std::size_t started_ = 0;
};

/// For tests and measurements: no bucket of several parameters has more bytes from now on; 0: as many as a program begins
/// with. Not while some are under way, and the same on all ranks.
void limit_buckets(std::int64_t most_bytes);

}  // namespace kiln::training
