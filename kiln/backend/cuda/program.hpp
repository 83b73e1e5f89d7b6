// Program: a kernel that is compiled, or is being compiled until it is first launched.
#pragma once
#include <future>
#include <mutex>
#include <vector>

#include "kiln/backend/cuda/stream.hpp"
#include "kiln/backend/gpu/driver.hpp"

namespace kiln::cuda {

class Program final : public gpu::Code {
 public:
  /// What is known of it beside its code.
  struct Facts {
    std::string name, function;
    int threads;
    std::int64_t shared_bytes;
    std::vector<std::size_t> words;  // where the arguments of each parameter begin; last how many there are
    bool together = false;           // its blocks wait for each other
  };
  Program(Ref<Stream> stream, Facts facts, std::future<std::vector<std::byte>> code);
  ~Program() override {
    if (module_) stream_->last_api().module_unload(module_);
  }
  /// Waits for it. Throws DeviceError where there is none, and the device is lost then: what should have been computed is not.
  FunctionHandle function() const;
  /// For text that others wrote: throws DeviceError where it does not compile, or the function has other parameters, as far as
  /// the driver knows them.
  void require_parameters() const;

  const std::string name;
  const unsigned threads, shared_bytes;
  const bool together;
  const std::vector<std::size_t> words;

 private:
  FunctionHandle loaded() const;
  void load() const;

  const std::string function_name_;
  const Ref<Stream> stream_;
  const std::shared_future<std::vector<std::byte>> code_;
  mutable std::once_flag once_;
  mutable ModuleHandle module_ = nullptr;
  mutable FunctionHandle function_ = nullptr;
};

}  // namespace kiln::cuda
