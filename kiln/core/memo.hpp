// Memo: results derived from an object that never changes, cached with it until it is destroyed.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace kiln {

/// A result is found by its type and its maker's number, so that makers that share the object never see each other's
/// results. Any number of threads may call it.
class Memo {
 public:
  Memo() = default;
  Memo(const Memo&) = delete;
  Memo& operator=(const Memo&) = delete;
  ~Memo() {
    for (const CachedResult* entry = first_.load(std::memory_order_relaxed); entry;)
      delete std::exchange(entry, entry->next);
  }

  /// The T of `maker`: make() is called at the first request. Where two threads are first, one result is kept.
  template <class T, class Make>
  const T& get(std::uint64_t maker, Make&& make) const {
    const CachedResult* first = first_.load(std::memory_order_acquire);
    if (const T* const known = find<T>(first, maker)) return *known;
    auto fresh = std::make_unique<Holder<T>>(maker, make);
    for (;;) {
      fresh->next = first;
      if (first_.compare_exchange_weak(first, fresh.get(), std::memory_order_acq_rel, std::memory_order_acquire))
        return fresh.release()->value;
      if (const T* const known = find<T>(first, maker)) return *known;
    }
  }

 private:
  struct CachedResult {
    CachedResult(const void* type, std::uint64_t maker) : type(type), maker(maker) {}
    virtual ~CachedResult() = default;
    const void* const type;
    const std::uint64_t maker;
    const CachedResult* next = nullptr;
  };
  template <class T>
  struct Holder final : CachedResult {
    template <class Make>
    Holder(std::uint64_t maker, Make& make) : CachedResult(&kName, maker), value(make()) {}
    static inline char kName = 0;  // its address identifies the type
    const T value;
  };
  template <class T>
  static const T* find(const CachedResult* entry, std::uint64_t maker) {
    for (; entry; entry = entry->next)
      if (entry->type == &Holder<T>::kName && entry->maker == maker)
        return &static_cast<const Holder<T>*>(entry)->value;
    return nullptr;
  }

  mutable std::atomic<const CachedResult*> first_{nullptr};
};

}  // namespace kiln
