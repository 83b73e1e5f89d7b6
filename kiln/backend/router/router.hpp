// Router: one device made of several. Each operation runs on one of the parts, and values move between them.
//
//   const Device device = Device::router({Device::cuda(), Device::cpu()}).autodiff();   // or parse("router:cuda,cpu")
//   model = place(std::move(model), device, {{"encoder", 0}, {"*", 1}});                // kiln/nn/module/place.hpp
//
// A value is where it was computed; data from the host go where they are used first. A value keeps the copies that moves
// make of it, so that it moves only once to each part. Moves are counted (router_moves), and KILN_LOG=router prints each.
// An operation whose operands are still on their way waits, and the program goes on.
#pragma once
#include <deque>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "kiln/ops/value.hpp"

namespace kiln {

/// A tensor operand of an operation.
struct RouteOperand {
  int part;              // where it was computed; -1: still on the host
  std::uint32_t places;  // bit i: part i has it, or gets it without a move from another part
  bool stays;            // a program placed it, or it is a parameter, or computed from such values alone
  std::int64_t bytes;
};

/// An operation that has to run somewhere.
struct RouteRequest {
  std::string_view op;  // the function that was called: "matmul", "add"
  std::span<const RouteOperand> operands;
  std::uint32_t allowed;  // bit i: part i has a kernel, or can compose the operation of others
  int near;  // where the tensor is for which one is created, or the operation ran whose gradient this is; or -1
};

/// Returns the part on which the operation runs, one of request.allowed; another is an error. Threads may call it at
/// the same time.
using RoutePolicy = std::function<int(const RouteRequest& request)>;

/// The policy by default: the part that is near; else that of the largest operand that stays; else the one to which the
/// fewest bytes have to move, among equals where the most bytes were computed, and then the first.
int route_by_place(const RouteRequest& request);

/// A router with a policy. Throws ArgumentError for no parts, for more than 32 and for one that is there twice, also
/// within a part that is a router.
Device router(std::vector<Device> parts, RoutePolicy policy = {});

/// Returns the parts of a router. These functions throw DeviceError for another device.
std::vector<Device> router_parts(const Device& router);
/// Returns the device with a place: tensors that are created on it, or moved to it by to_device(), are on that part, and
/// operations with them run there. Throws ArgumentError where there is no such part.
Device router_part(const Device& router, int part);
/// Returns the part on which a value was computed, or is to be; -1: it is still on the host.
int part_of(const Value& value);

/// How often values moved from one part to another, and their bytes. What comes from the host does not count.
struct RouterMoves {
  std::int64_t count = 0, bytes = 0;
};
RouterMoves router_moves(const Device& router);

/// Bounds how many micro-batches a program asks for before the earlier ones are done, and with that their memory:
///
///   MicroBatches in_flight(device, 2);
///   for (const Tensor<2>& x : batches) {
///     in_flight.begin();
///     gradients.add(value_and_grad(model, ...).grads);
///   }
class MicroBatches {
 public:
  /// Throws ArgumentError for less than 1. On a device that is no router there is nothing to bound.
  MicroBatches(const Device& device, int most);
  /// Waits until all operations of all but the last `most` - 1 micro-batches have been given to the parts, which then
  /// need none of the values that were kept for them. Errors stay with the values.
  void begin();

 private:
  Device device_;
  std::size_t most_;
  std::deque<std::uint64_t> begun_;  // how many operations had waited by the beginning of each of the last ones
};

}  // namespace kiln
