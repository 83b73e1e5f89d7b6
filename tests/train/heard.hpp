// A callback that keeps what a training says.
#pragma once
#include <memory>
#include <variant>
#include <vector>

#include "kiln/train/events.hpp"

namespace kiln {

/// Notes what it is told, also of copies.
struct Heard {
  std::shared_ptr<std::vector<training::Event>> events = std::make_shared<std::vector<training::Event>>();
  void on(const auto& event) { events->push_back(event); }

  template <class E>
  std::vector<E> of() const {
    std::vector<E> found;
    for (const auto& event : *events)
      if (const auto* const e = std::get_if<E>(&event)) found.push_back(*e);
    return found;
  }
};

}  // namespace kiln
