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

/// Returns the communicators of a group of `size` ranks, in rank order, one for each thread. Throws ArgumentError.
std::vector<Ranks> thread_ranks(int size, const CommunicatorConfig& config = {});

/// Calls run(ranks, device) for each device on a thread of its own, rank i with device i, and returns when all have
/// ended. If some throw, the other ranks' collectives fail, and the first error is rethrown. Throws ArgumentError where
/// two ranks have one device, since they would share its stream of random numbers.
void on_each(const std::vector<Device>& devices, FunctionRef<void(const Ranks& ranks, const Device& device)> run,
             const CommunicatorConfig& config = {});

/// Returns a device on the same hardware with its own stream of random numbers and of work, so that two ranks may share
/// a processor.
Device another(const Device& device);

}  // namespace kiln
