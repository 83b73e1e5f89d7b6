// Context: a device that is open, the time line of its queue, and the errors that come out of it.
#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "kiln/backend/vulkan/instance.hpp"
#include "kiln/core/error/error.hpp"
#include "kiln/core/ref.hpp"

namespace kiln::vulkan {

struct ContextOptions {
  /// Changes the table of functions: tests let some fail.
  std::function<void(Api&)> change = {};
  /// A device that completes nothing for so long counts as lost.
  std::chrono::milliseconds patience = std::chrono::minutes(10);
};

class Context : public RefCounted {
 public:
  /// Opens device `index` of the instance. Throws DeviceError if there is none, or its driver does not open it.
  Context(const Instance& instance, int index, const ContextOptions& options = {});
  ~Context() override;

  /// "vulkan", "vulkan:1"
  const std::string& name() const { return name_; }
  const Api& api() const { return api_; }
  VkDevice device() const { return device_; }
  VkQueue queue() const { return queue_; }
  const PhysicalDevice& physical() const { return physical_; }
  /// The layout of all kernels: kPushedBytes of push constants.
  VkPipelineLayout layout() const { return layout_; }
  /// Do pipelines ask for warps of 32 threads?
  bool sets_lanes() const { return sets_lanes_; }

  /// Throws the error of a call: MemoryError if there is no memory left, else DeviceError. A lost device stays lost.
  template <class... Parts>
  void check(VkResult result, const Parts&... doing) const {
    if (result != VK_SUCCESS) [[unlikely]]
      raise_error(result, text(doing...));
  }
  /// Throws the reason if the device is lost.
  void demand_alive() const;
  bool is_lost() const;
  /// `by_driver`: it has said so itself.
  void lose(const std::string& reason, bool by_driver = false) const;
  /// Sees that the device has completed all up to that value, before what it uses is destroyed. If it has not, and may
  /// never, it is abandoned: then nothing of it is destroyed.
  void settle(std::uint64_t value) const noexcept;
  bool is_abandoned() const { return abandoned_; }

  // ---- the time line: a number that grows by one with each submission that the device completes ----
  VkSemaphore timeline() const { return timeline_; }
  /// Has the device got there, or is it lost?
  bool reached(std::uint64_t value) const;
  /// Waits, but not for a device that is lost, or stands still; throws then.
  void wait_for(std::uint64_t value) const;

 private:
  void open();
  void destroy() noexcept;
  void make_layout();
  void make_timeline();
  [[noreturn]] void raise_error(VkResult result, const std::string& doing) const;

  const PhysicalDevice& physical_;
  const std::string name_;
  Api api_;
  const std::chrono::milliseconds patience_;
  bool sets_lanes_ = false;
  VkDevice device_ = nullptr;
  VkQueue queue_ = nullptr;
  VkPipelineLayout layout_ = nullptr;
  VkSemaphore timeline_ = nullptr;
  mutable std::mutex mutex_;
  mutable std::optional<std::string> lost_;
  mutable bool lost_by_driver_ = false;
  mutable std::atomic<bool> abandoned_{false};
};

}  // namespace kiln::vulkan
