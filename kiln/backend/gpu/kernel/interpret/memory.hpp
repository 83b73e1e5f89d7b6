// Loads and stores: conversion between stored elements and the type in which they are computed.
#pragma once
#include "kiln/backend/gpu/kernel/arithmetic.hpp"
#include "kiln/backend/gpu/kernel/interpret/block.hpp"
#include "kiln/core/convert.hpp"

namespace kiln::gpu::interpreted {

/// The type in which elements of T are computed.
template <class T>
using Computed =
    std::conditional_t<is_half<T>, float, std::conditional_t<std::is_integral_v<T> && sizeof(T) < 4, std::int32_t, T>>;

template <class S>
Computed<S> element(const std::byte* data, std::int64_t i) {
  std::conditional_t<std::is_same_v<S, bool>, std::uint8_t, S> stored;
  std::memcpy(&stored, data + i * static_cast<std::int64_t>(sizeof(S)), sizeof(S));
  return static_cast<Computed<S>>(stored);
}

/// Rounds or truncates the value; one stored as a boolean must be 0 or 1.
template <class S>
void set_element(Block& block, int thread, std::byte* data, std::int64_t i, Computed<S> value) {
  if constexpr (std::is_same_v<S, bool>)
    if (value != 0 && value != 1) [[unlikely]]
      block.wrong("thread ", thread, " stores ", value, " as a boolean");
  const S stored = static_cast<S>(value);
  std::memcpy(data + i * static_cast<std::int64_t>(sizeof(S)), &stored, sizeof(S));
}

/// The new value of an element that an update changes.
template <class T>
T updated(Update update, T old, T value, T expected) {
  switch (update) {
    case Update::Add: return arithmetic<T>(Arithmetic::Add, old, value);
    case Update::Maximum: return arithmetic<T>(Arithmetic::Maximum, old, value);
    case Update::Minimum: return arithmetic<T>(Arithmetic::Minimum, old, value);
    case Update::And: return arithmetic<T>(Arithmetic::And, old, value);
    case Update::Or: return arithmetic<T>(Arithmetic::Or, old, value);
    case Update::Exchange: return value;
    case Update::CompareAndSwap: return std::memcmp(&old, &expected, sizeof(T)) == 0 ? value : old;
  }
  __builtin_unreachable();
}

/// Calls f with a value of a type that can be updated, and the update as a constant.
template <class F>
Run visit_update(DType dtype, Update update, F f) {
  return visit_type(dtype, [&](auto like) -> Run {
    if constexpr (std::is_same_v<decltype(like), bool>) fail<ArgumentError>("kernel: truths are not updated");
    else {
      switch (update) {
        case Update::Add: return f(like, std::integral_constant<Update, Update::Add>{});
        case Update::Maximum: return f(like, std::integral_constant<Update, Update::Maximum>{});
        case Update::Minimum: return f(like, std::integral_constant<Update, Update::Minimum>{});
        case Update::And: return f(like, std::integral_constant<Update, Update::And>{});
        case Update::Or: return f(like, std::integral_constant<Update, Update::Or>{});
        case Update::Exchange: return f(like, std::integral_constant<Update, Update::Exchange>{});
        case Update::CompareAndSwap: return f(like, std::integral_constant<Update, Update::CompareAndSwap>{});
      }
      __builtin_unreachable();
    }
  });
}

}  // namespace kiln::gpu::interpreted
