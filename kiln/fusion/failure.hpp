// Failure: in place of the contents of a value that could not be computed.
#pragma once
#include <exception>
#include <typeinfo>

#include "kiln/ops/node.hpp"

namespace kiln::fusion {

struct Failure final : Storage {
  explicit Failure(std::exception_ptr error) : error(std::move(error)) {}
  std::exception_ptr error;
};

/// Null for a value that nothing went wrong with, as far as is known.
inline Ref<Failure> failure_of(const Ref<Node>& node) {
  Storage* const storage = node ? node->storage.get() : nullptr;
  return Ref<Failure>(storage && typeid(*storage) == typeid(Failure) ? static_cast<Failure*>(storage) : nullptr);
}

}  // namespace kiln::fusion
