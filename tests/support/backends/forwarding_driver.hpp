// The simulated GPU, to which a test adds something.
#pragma once
#include "kiln/backend/gpu/driver.hpp"
#include "kiln/backend/gpu/simulated/simulated.hpp"

namespace kiln::test {

/// Its library declines what a test does not override.
class ForwardingDriver : public gpu::Driver, public gpu::Library, public gpu::Collectives {
 public:
  explicit ForwardingDriver(Ref<gpu::Driver> inner = gpu::make_simulated()) : inner_(std::move(inner)) {}

  std::string name() const override { return inner_->name(); }
  const gpu::Capabilities& capabilities() const override { return inner_->capabilities(); }
  BlockSource& memory() override { return inner_->memory(); }
  void acquired(std::byte* start, std::size_t bytes) override { inner_->acquired(start, bytes); }
  void released(std::byte* start, std::size_t bytes) override { inner_->released(start, bytes); }
  Ref<gpu::Code> compile(const gpu::Kernel& kernel) override { return inner_->compile(kernel); }
  void launch(const gpu::Code& code, std::int64_t blocks, std::span<const std::uint64_t> arguments) override {
    inner_->launch(code, blocks, arguments);
  }
  void upload(std::byte* to, std::span<const std::byte> from) override { inner_->upload(to, from); }
  Ref<gpu::Transfer> download(const std::byte* from, std::size_t bytes) override {
    return inner_->download(from, bytes);
  }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override { inner_->copy(to, from, bytes); }
  void clear(std::byte* start, std::size_t bytes) override { inner_->clear(start, bytes); }
  void synchronize() override { inner_->synchronize(); }
  gpu::Collectives* collectives() override { return this; }
  bool can_start_collectives(Communicator& among) override {
    return inner_->collectives()->can_start_collectives(among);
  }
  std::uint64_t start_collective(Communicator& among, const gpu::Collective& collective) override {
    return inner_->collectives()->start_collective(among, collective);
  }
  void wait_for_collective(std::uint64_t collective) override {
    inner_->collectives()->wait_for_collective(collective);
  }
  gpu::Library* library() override { return this; }

 private:
  const Ref<gpu::Driver> inner_;
};

}  // namespace kiln::test
