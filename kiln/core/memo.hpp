// Memo: what has been made of an object that never changes, kept with it until it ends.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace kiln {

/// Each thing is known by its type and by who made it, so that makers who share the object never see each other's. Any
/// number of threads may ask.
class Memo {
 public:
  Memo() = default;
  Memo(const Memo&) = delete;
  Memo& operator=(const Memo&) = delete;
  ~Memo() {
    for (const Entry* entry = first_.load(std::memory_order_relaxed); entry;) delete std::exchange(entry, entry->next);
  }

  /// The T of `maker`: what make() gave when it was first asked for. Where two threads are first, one result is kept.
  template <class T, class Make>
  const T& get(std::uint64_t maker, Make&& make) const {
    const Entry* first = first_.load(std::memory_order_acquire);
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
  struct Entry {
    Entry(const void* type, std::uint64_t maker) : type(type), maker(maker) {}
    virtual ~Entry() = default;
    const void* const type;
    const std::uint64_t maker;
    const Entry* next = nullptr;
  };
  template <class T>
  struct Holder final : Entry {
    template <class Make>
    Holder(std::uint64_t maker, Make& make) : Entry(&kName, maker), value(make()) {}
    static inline char kName = 0;  // its address tells the type from others
    const T value;
  };
  template <class T>
  static const T* find(const Entry* entry, std::uint64_t maker) {
    for (; entry; entry = entry->next)
      if (entry->type == &Holder<T>::kName && entry->maker == maker)
        return &static_cast<const Holder<T>*>(entry)->value;
    return nullptr;
  }

  mutable std::atomic<const Entry*> first_{nullptr};
};

}  // namespace kiln
