// Queue: commands in the order of submission. They are recorded at once, and started together.
#pragma once
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "kiln/backend/vulkan/memory.hpp"
#include "kiln/backend/vulkan/order.hpp"
#include "kiln/backend/vulkan/program.hpp"

namespace kiln::vulkan {

/// Thread-safe.
class Queue : public RefCounted {
 public:
  explicit Queue(Ref<Context> context);
  /// Waits for the device.
  ~Queue() override;

  /// `accesses`: of the tensors that the arguments point to.
  void launch(Ref<const Program> program, std::int64_t blocks, std::span<const std::uint64_t> arguments,
              const Accesses& accesses);
  void copy(Place to, Place from, std::size_t bytes);
  void clear(Place start, std::size_t bytes);
  /// The bytes are the queue's own when it returns.
  void upload(Place to, std::span<const std::byte> from);
  /// Copies to memory that the host sees; the bytes are there once reached() says so of the result.
  std::uint64_t download(const Buffer& to, Place from, std::size_t bytes);

  /// Starts what is recorded. Returns the value of the time line at which all is done.
  std::uint64_t flush();
  /// Starts what is recorded if that value is not reached without it.
  void flush_for(std::uint64_t value);
  /// Waits for all work.
  void finish();
  /// Sees that no command runs any more, before what they use is destroyed.
  void settle() noexcept;

 private:
  /// A command buffer, and what its commands need until they are done.
  struct Batch {
    VkCommandPool pool = nullptr;
    VkCommandBuffer commands = nullptr;
    std::uint64_t value = 0;  // of the time line, at which it is done
    int recorded = 0, barriers = 0;
    std::vector<Ref<const Program>> programs;
    std::vector<std::unique_ptr<Buffer>> staging;
  };
  /// Some of the staging memory of the open batch.
  struct Staged {
    std::byte* data;
    Place place;
    std::uint64_t address;
  };

  Batch& open();
  Batch new_batch();
  void barrier(VkPipelineStageFlags to_stage, VkAccessFlags to);
  Batch& command(const Accesses& accesses);
  Staged stage(std::size_t bytes);
  std::size_t upload_piece(Place to, std::span<const std::byte> from);
  std::unique_ptr<Buffer> take_staging(std::size_t bytes);
  void collect();
  void flush_locked();

  const Ref<Context> context_;
  const bool logs_;
  std::mutex mutex_;
  Order order_;
  std::optional<Batch> open_;
  std::deque<Batch> running_;  // the oldest first
  std::vector<Batch> free_;
  std::vector<std::unique_ptr<Buffer>> free_staging_;
  std::size_t staged_ = 0;       // bytes of the last staging buffer that are taken
  std::uint64_t submitted_ = 0;  // the last value that a submission reaches
};

}  // namespace kiln::vulkan
