// Ranks that are threads of one process, each with a device of its own:
//
//   on_each({Device::parse("gpu:0"), Device::parse("gpu:1")}, [&](const Ranks& ranks, const Device& device) {
//     Learner learner(train(config.init(device)), optimizer, step, {.epochs = 10}, ranks);
//     ...
//   });
#pragma once
#include <vector>

#include "kiln/core/function_ref.hpp"
#include "kiln/ops/collective/communicator.hpp"
#include "kiln/ops/device.hpp"

namespace kiln {

/// The ends of a group of `size` ranks, in their order, one for each of so many threads. Throws ArgumentError.
std::vector<Ranks> thread_ranks(int size, const CommunicatorConfig& config = {});

/// Calls run(ranks, device) for each device in a thread of its own, rank i with device i, and returns when all have ended. Where
/// some throw, the others are told as they meet the first of these, whose error comes out. Throws ArgumentError where two
/// ranks have one device, whose random numbers are one stream.
void on_each(const std::vector<Device>& devices, FunctionRef<void(const Ranks& ranks, const Device& device)> run,
             const CommunicatorConfig& config = {});

/// A device of the same place with streams of random numbers and of work of its own: two ranks may share a processor.
Device another(const Device& device);

}  // namespace kiln
