// Reads tensors without waiting for each: a Future holds a read in progress, and several values can be read with one
// synchronisation.
//
//   auto loss = read_async(x);            // the device goes on, and so does this thread
//   auto [a, b] = read(x, y);             // one wait for both
//   TensorData data = co_await read_async(x);
#pragma once
#include <array>
#include <concepts>
#include <utility>

#include "kiln/ops/backend.hpp"

namespace kiln {

/// Starts to read values, which may be on several devices: one start_read() for each device.
Ref<PendingRead> start_read(Inputs values);

/// A value that arrives from a device. It can be taken once: by get(), or by co_await in a coroutine, which continues
/// on the thread on which the data arrive. Errors of the device are thrown when it is taken.
template <class T>
class Future {
 public:
  using Finish = T (*)(std::vector<TensorData>);
  Future(Ref<PendingRead> reading, Finish finish) : reading_(std::move(reading)), finish_(finish) {}

  /// Whether get() would return at once.
  bool ready() const { return pending().ready(); }
  /// Waits for the value. Throws ArgumentError the second time.
  T get() {
    pending();
    return finish_(std::exchange(reading_, {})->wait());
  }

  bool await_ready() const { return ready(); }
  template <class Coroutine>
  void await_suspend(Coroutine waiting) {
    pending().notify({[](void* address) { Coroutine::from_address(address).resume(); }, waiting.address()});
  }
  T await_resume() { return get(); }

 private:
  PendingRead& pending() const {
    require<ArgumentError>(static_cast<bool>(reading_), "a future was taken twice");
    return *reading_;
  }

  Ref<PendingRead> reading_;
  Finish finish_;
};

/// Lets the devices start the work that these values wait for, without waiting itself, and throws the errors of these
/// values that are known by then.
void run_pending(Inputs values);

/// Reads one value.
Future<TensorData> read_async(const Value& value);
/// Reads several values with one synchronisation.
Future<std::vector<TensorData>> read_async(Inputs values);
std::vector<TensorData> read(Inputs values);

/// A Value, or a type that wraps one.
template <class T>
concept Readable = std::convertible_to<T, Value> || requires(const T& x) {
  { x.value() } -> std::same_as<const Value&>;
};

/// auto [a, b] = read(x, y): a std::array<TensorData, 2>.
template <Readable... Vs>
requires(sizeof...(Vs) >= 2) Future<std::array<TensorData, sizeof...(Vs)>> read_async(const Vs&... values) {
  const Value list[] = {Value(values)...};
  return {start_read(list), [](std::vector<TensorData> data) {
            return [&]<std::size_t... I>(std::index_sequence<I...>) {
              return std::array<TensorData, sizeof...(Vs)>{std::move(data[I])...};
            }(std::make_index_sequence<sizeof...(Vs)>());
          }};
}
template <Readable... Vs>
requires(sizeof...(Vs) >= 2) std::array<TensorData, sizeof...(Vs)> read(const Vs&... values) {
  return read_async(values...).get();
}

}  // namespace kiln
