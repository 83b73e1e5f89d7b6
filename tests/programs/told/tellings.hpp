// Counts who is told of an error.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/trace.hpp"
#include "kiln/core/function_ref.hpp"
#include "kiln/ops/device.hpp"
#include "kiln/ops/devices.hpp"

namespace kiln::test {

/// These devices, and the GPU where there is one.
inline std::vector<std::string> with_cuda(std::vector<std::string> devices) {
  const std::vector<std::string> there = device_names();
  if (std::ranges::find(there, "cuda") != there.end()) devices.insert(devices.end(), {"cuda", "plain cuda"});
  return devices;
}
/// The name of a test on such a device.
inline std::string label(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::ranges::replace(name, ' ', '_');
  return name;
}

/// What it throws, if anything.
inline std::vector<std::string> tellings(FunctionRef<void()> program) {
  try {
    program();
  } catch (const Error& error) { return {without_all_calls(error.what())}; }
  return {};
}
inline std::vector<std::string> in_another_thread(FunctionRef<void()> program) {
  std::vector<std::string> said;
  std::thread([&] { said = tellings(program); }).join();
  return said;
}
/// What this thread, another one and this one again hear from sync(): nothing, where all has been told.
inline std::vector<std::string> left_untold(const Device& device) {
  std::vector<std::string> said;
  for (const bool other : {true, false, true, false})
    for (std::string& each : other ? in_another_thread([&] { device.sync(); }) : tellings([&] { device.sync(); }))
      said.push_back(std::move(each));
  return said;
}

}  // namespace kiln::test
