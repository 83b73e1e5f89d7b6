#include "kiln/train/ranks/buckets.hpp"

#include <algorithm>
#include <utility>

#include "kiln/ops/collective/collective.hpp"
#include "kiln/ops/collective/host.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/scope/no_grad.hpp"

namespace kiln::training {

Buckets::Buckets(Ranks among, Combine how, std::shared_ptr<const Layout> layout)
    : among_(std::move(among)), how_(how), layout_(std::move(layout)), params_(layout_->params.size()) {
  for (std::size_t i = 0; i < params_.size(); ++i) places_.emplace(layout_->params[i].path, i);
  for (const Layout::Bucket& bucket : layout_->buckets) buckets_.push_back({bucket.end - bucket.begin});
}

void Buckets::add(std::string_view path, const Value& grad) {
  const auto place = places_.find(path);
  require<ArgumentError>(place != places_.end() || !sharded(), "training: '", path,
                         "' was not trained when its optimizer's state was given to ranks: unfreeze it before fit()");
  if (place == places_.end()) return;
  KILN_CHECK(!params_[place->second].here);
  const NoGrad pause;
  Param& param = params_[place->second];
  param.here = true;
  param.grad = grad;
  const auto after = std::ranges::upper_bound(layout_->buckets, place->second, {}, &Layout::Bucket::begin);
  --buckets_[static_cast<std::size_t>(after - layout_->buckets.begin()) - 1].missing;
  while (started_ < buckets_.size() && buckets_[started_].missing == 0) start(started_++);
}

void Buckets::start(std::size_t index) {
  const Layout::Bucket& bucket = layout_->buckets[index];
  const DType dtype = layout_->params[bucket.begin].sent;
  const Value own = layout_->joined(bucket, dtype, [&](std::size_t i) {
    const Layout::Param& param = layout_->params[i];
    return params_[i].here ? std::exchange(params_[i].grad, {}) : zeros(param.shape, param.device, param.sent);
  });
  Value& total = buckets_[index].total;
  if (sharded()) total = reduce_scatter(own, among_, Combine::Sum);
  else total = all_reduce(own, among_, how_);
}

void Buckets::start_rest() {
  const NoGrad pause;
  while (started_ < buckets_.size()) start(started_++);
}

GradientsParams Buckets::finish() {
  start_rest();
  const NoGrad pause;
  std::vector<std::uint8_t> here, anywhere(params_.size());
  for (const Param& param : params_) here.push_back(param.here);
  collective::all_reduce(*among_, "training: which parameters took part", op::ReduceFn::Max, DType::U8,
                         std::as_bytes(std::span(here)), std::as_writable_bytes(std::span(anywhere)));
  GradientsParams total;
  for (std::size_t index = buckets_.size(); index-- > 0;) {  // the wait for the last bucket includes the others
    const Layout::Bucket& bucket = layout_->buckets[index];
    Value sums = std::exchange(buckets_[index].total, {});
    // Libraries of devices know sums of slices, and no means. An earlier division would wait for the sums.
    if (sharded() && how_ == Combine::Mean) sums = sums / among_->size();
    for (std::size_t i = bucket.begin; i < bucket.end; ++i) {
      const Layout::Param& param = layout_->params[i];
      if (!anywhere[i]) continue;
      if (!sharded()) total.by_path[param.path] = layout_->taken(sums, i);
      else if (const auto part = layout_->part(bucket, param, among_->rank()))
        total.by_path[param.path] = layout_->taken(sums, bucket, i, *part);
    }
  }
  return total;
}

}  // namespace kiln::training
