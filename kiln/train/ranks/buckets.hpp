// Combines gradients of several ranks while the others are still being computed.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/nn/gradients.hpp"
#include "kiln/ops/collective/communicator.hpp"
#include "kiln/ops/index/index.hpp"
#include "kiln/train/ranks/layout.hpp"

namespace kiln::training {

/// The buckets of one step. Gradients are sent as backward() reaches them, and a bucket starts after those before it, so
/// that all ranks make the same calls, whichever parameters took part on each.
class Buckets {
 public:
  using Halves = training::Halves;

  /// `how` is Sum or Mean. All ranks receive all sums, or with a slice for each rank the sums of their slices.
  Buckets(Ranks among, Combine how, std::shared_ptr<const Layout> layout);
  Buckets(Ranks among, Combine how, const nn::ModuleView& model, Halves halves)
      : Buckets(std::move(among), how, std::make_shared<const Layout>(Layout::whole(model, halves))) {}
  /// Adds this rank's gradient of a parameter, once for each that took part here: starts the buckets that are complete
  /// by it. Does nothing for a parameter that is not trained. Throws ArgumentError if it has been trained since slices
  /// were given to ranks only.
  void add(std::string_view path, const Value& grad);
  /// Starts the remaining buckets, with zeros for parameters that took no part here.
  void start_rest();
  /// Starts the remaining buckets if start_rest() was not called, and returns the gradients of all ranks, without
  /// parameters that took part nowhere; with a slice for each rank, those of this rank's parts. Called once.
  GradientsParams finish();

 private:
  struct Param {
    bool here = false;  // did it take part on this rank?
    Value grad{};       // until its bucket starts
  };
  struct Bucket {
    std::size_t missing;  // how many gradients of its parameters
    Value total{};        // set when it starts
  };
  bool sharded() const { return layout_->slices > 1; }
  void start(std::size_t bucket);

  const Ranks among_;
  const Combine how_;
  const std::shared_ptr<const Layout> layout_;
  std::vector<Param> params_;
  std::map<std::string_view, std::size_t> places_;  // indices in params_
  std::vector<Bucket> buckets_;
  std::size_t started_ = 0;
};

}  // namespace kiln::training
