// A field that is none of its module's parts.
#pragma once
#include <utility>

#include "kiln/nn/walk.hpp"

namespace kiln::nn {

/// What a module has beside its parts, whatever it may be: a teacher that is only asked, a cache. It is not visited, so it
/// is neither trained, counted, moved, saved nor switched between modes; copies of the module copy it.
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
