// A Loop whose model, optimizer and step have types: takes their steps, keeps their states, and measures the model.
#pragma once
#include <concepts>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "kiln/train/loop.hpp"
#include "kiln/train/still.hpp"

namespace kiln::training {

template <class M, class O, class F>
class TypedLoop : public Loop {
 protected:
  static constexpr bool kByHand = SignatureOf<F>::kByHand;
  static constexpr bool kHasParts = requires(O& optimizer) { optimizer.untyped(); };

  TypedLoop(M model, O optimizer, F step, const LearnerConfig& config)
      : Loop(config, kByHand), model_(std::move(model)), optimizer_(std::move(optimizer)), step_(std::move(step)) {}
  ~TypedLoop() = default;

  /// The model for inference, with the average of its weights if there is one.
  M inference() const { return still(averaged()); }

  M model_;
  O optimizer_;
  F step_;
  std::function<Outcome(const M&, void* batch, bool owned)> valid_step_;

 private:
  M averaged() const {
    if (optional_state_.average) return optional_state_.average->apply(model_);
    if (shards_) {
      M model = model_;
      shards_->put_averages(model);
      return model;
    }
    if constexpr (requires { optimizer_.averaged(model_); }) return optimizer_.averaged(model_);
    else return model_;
  }

  nn::ModuleRef model_ref() override { return model_; }
  std::string optimizer_type() const override { return std::string(reflect::type_name<O>()); }
  Json optimizer_facts() const override { return optimizer_fact(optimizer_); }
  void record_model(RecordedObjects& objects) override { objects.add("model", model_); }
  void record_optimizer(RecordedObjects& objects) override { objects.add("optimizer", optimizer_); }
  OptimizerState* optimizer_state() override {
    if constexpr (kHasParts) return &optimizer_.untyped();
    else return nullptr;
  }
  Outcome call_step(void* batch, bool owned, const StepContext& context) override {
    if constexpr (kByHand) return training::call_step(step_, batch, owned, model_, optimizer_, context);
    else return training::call_step(step_, batch, owned, std::as_const(model_));
  }
  void update(const Rates& rates, const GradientsParams& grads) override {
    if constexpr (!kByHand) {
      if (rates.size() == 1) model_ = optimizer_.step(rates[0], std::move(model_), grads);
      else model_ = optimizer_.step(rates, std::move(model_), grads);
    }
  }
  void save_model() override { before_.emplace(model_); }
  void restore_model() override {
    if (before_) model_ = *std::exchange(before_, std::nullopt);
  }
  void drop_saved_model() override { before_.reset(); }

  static constexpr bool kHasCopies = std::copyable<M> && std::copyable<O> && kHasParts;
  bool can_keep_states() const override { return kHasCopies; }
  void keep_state() override {
    if constexpr (kHasCopies) states_.emplace_back(*std::exchange(before_, std::nullopt), optimizer_);
  }
  void swap_state() override {
    if constexpr (kHasCopies) {
      std::swap(states_.front().first, model_);
      std::swap(states_.front().second, optimizer_);
    }
  }
  void drop_oldest_state() override { states_.pop_front(); }
  void drop_states() override { states_.clear(); }

  void measure(const Batches& valid) override {
    if constexpr (kByHand)
      require<ArgumentError>(static_cast<bool>(valid_step_),
                             "training: a step that is written by hand does not define how "
                             "to validate: give valid_step()");
    M measured = inference();
    team_.share_buffers(measured);
    training::measure(
        [&](void* batch, bool owned) {
          if constexpr (!kByHand)
            if (!valid_step_) return training::call_step(step_, batch, owned, std::as_const(measured));
          return valid_step_(measured, batch, owned);
        },
        valid, valid_metrics_);
  }

  std::optional<M> before_;             // set if a step may have to be undone
  std::deque<std::pair<M, O>> states_;  // before the steps ahead
};

}  // namespace kiln::training
