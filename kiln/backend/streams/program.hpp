// Program: a kernel that is compiled, or is being compiled until its first launch.
#pragma once
#include <future>
#include <mutex>
#include <vector>

#include "kiln/backend/gpu/driver.hpp"
#include "kiln/backend/streams/stream.hpp"

namespace kiln::streams {

class Program final : public gpu::Code {
 public:
  /// What is known of the kernel besides its code.
  struct ProgramTraits {
    std::string name, function;
    int threads;
    std::int64_t shared_bytes;
    std::vector<std::size_t> words;  // the offset of each parameter's first argument; at the end their number
    bool together = false;           // do its blocks wait for each other?
  };
  Program(Ref<Stream> stream, ProgramTraits traits, std::future<std::vector<std::byte>> code);
  ~Program() override {
    if (module_) stream_->last_api().module_unload(module_);
  }
  /// Waits for the code. Throws DeviceError if it does not compile; then the device is lost, since results are missing.
  FunctionHandle function() const;
  /// Throws DeviceError if CUDA C++ from users does not compile, or if its function has other parameters, as far as the
  /// driver knows them.
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

}  // namespace kiln::streams
