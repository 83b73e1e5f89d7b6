// A field that is not a part of its module.
#pragma once
#include <utility>

#include "kiln/nn/walk.hpp"

namespace kiln::nn {

/// Holds something that belongs to a module but is not one of its parts: a teacher model, a cache. It is not visited,
/// so it is not trained, counted, moved, saved or switched between modes; copies of the module copy it.
///
///   nn::Skip<Net> teacher;
///   teacher->forward(x)
template <class T>
class Skip {
 public:
  static constexpr bool kHoldsNoTensors = true;

  Skip() = default;
  Skip(T value) : value_(std::move(value)) {}

  T& operator*() { return value_; }
  const T& operator*() const { return value_; }
  T* operator->() { return &value_; }
  const T* operator->() const { return &value_; }

 private:
  T value_{};
};
template <class T> inline constexpr bool is_about_parts<Skip<T>> = false;

}  // namespace kiln::nn
