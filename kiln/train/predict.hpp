// Functions for what a model says of data that it is not trained on:
//
//   const Tensor<2> scores = predict(learner.result(), [&](const Model& m, ImageBatch batch) {
//     return m.forward(to_tensors(std::move(batch), device).images);
//   }, test_loader);
#pragma once
#include <concepts>
#include <type_traits>
#include <utility>
#include <vector>

#include "kiln/tensor/assemble.hpp"
#include "kiln/train/steps.hpp"
#include "kiln/train/still.hpp"

namespace kiln {

namespace training {

/// predict() of types that fit together.
template <class Batch, class M, class F, class Data>
auto predictions(M model, F& f, Data& data) {
  using Output = typename SignatureOf<F>::Output;
  const M measured = still(std::move(model));
  const NoGrad pause;
  std::vector<Output> outputs;
  batches_of<Batch>(data).each(0, 0, [&](void* batch, bool owned) {
    Batch& given = *static_cast<Batch*>(batch);
    if constexpr (std::is_lvalue_reference_v<typename SignatureOf<F>::BatchArg>) outputs.push_back(f(measured, given));
    else outputs.push_back(f(measured, owned ? std::move(given) : Batch(given)));
    return true;
  });
  if constexpr (kIsTensor<Output>) {
    static_assert(Output::kRank >= 1,
                  "predict: the function returns a tensor [batch, ...]; this one is a single number");
    require<DataError>(!outputs.empty(), "predict: the data have no batches");
    return cat(outputs, 0);
  } else {
    return outputs;
  }
}

}  // namespace training

/// Calls f(model, batch) for each batch of the data, in order and once, with the model in Mode::Valid and without
/// recording gradients. Tensors [batch, ...] become one tensor [all, ...]; results of other types, such as structs, a
/// std::vector of them. `data` is a loader or a container of batches. Throws DataError if there are no batches and f
/// returns tensors, and what f throws.
template <class M, class F, class Data>
auto predict(M model, F f, Data&& data) {
  using Batch = typename training::SignatureOf<F>::Batch;
  using Output = typename training::SignatureOf<F>::Output;
  constexpr bool kModule = Module<M>, kFits = !kModule || training::TakesModelAndBatch<F, M>,
                 kGives = training::GivesBatches<Data, Batch>, kReturns = !std::is_void_v<Output>;
  static_assert(kModule, "predict: the model is no module: make it a plain struct of parameters and modules");
  static_assert(kFits, "predict: the function takes (const Model&, Batch) with the type of the model and without auto");
  static_assert(!kModule || !kFits || kGives,
                "predict: the data are no loader or container of the batches that the function takes");
  static_assert(!kModule || !kFits || kReturns,
                "predict: the function returns nothing; a tensor [batch, ...] or a struct is kept for each batch");
  if constexpr (kModule && kFits && kGives && kReturns) return training::predictions<Batch>(std::move(model), f, data);
}

}  // namespace kiln
