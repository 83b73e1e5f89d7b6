// Intrusive reference counting. `retain` and `release` are found by ADL, so that a Ref of a type that is
// only declared can be copied and destroyed in a header that does not know the type.
#pragma once
#include <atomic>
#include <cstdint>
#include <utility>

namespace kiln {

/// A base class that counts its owners; a new object has none. Atomic read-modify-write steps cost as much as dozens of
/// other instructions, so they are avoided where no other thread can be counting and for permanent objects.
class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) : count_(0) {}
  RefCounted& operator=(const RefCounted&) { return *this; }
  virtual ~RefCounted() = default;

  void add_owner() const {
    if (!is_permanent()) count_.fetch_add(1, std::memory_order_relaxed);
  }
  /// For an object that no other thread can reach yet.
  void add_first_owner() const { count_.store(1, std::memory_order_relaxed); }
  /// Returns true when that was the last owner.
  bool drop_owner() const {
    return has_one_owner() || (!is_permanent() && count_.fetch_sub(1, std::memory_order_acq_rel) == 1);
  }
  bool has_one_owner() const { return count_.load(std::memory_order_acquire) == 1; }

  /// Keeps the object until the program ends, whatever its owners do. Must be called before other threads know the
  /// object.
  void make_permanent() const { count_.store(kPermanent, std::memory_order_relaxed); }
  bool is_permanent() const { return count_.load(std::memory_order_relaxed) & kPermanent; }

 private:
  static constexpr std::uint32_t kPermanent = 1u << 31;
  mutable std::atomic<std::uint32_t> count_{0};
};

inline void retain(const RefCounted* object) { object->add_owner(); }
inline void release(const RefCounted* object) {
  if (object->drop_owner()) delete object;
}

template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  explicit Ref(T* object) : object_(object) {
    if (object_) retain(object_);
  }
  /// A Ref that takes over an ownership that was counted already.
  static Ref adopt(T* object) {
    Ref ref;
    ref.object_ = object;
    return ref;
  }
  Ref(const Ref& other) : object_(other.object_) {
    if (object_) retain(object_);
  }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  template <class U>
  requires std::is_convertible_v<U*, T*> Ref(const Ref<U>& other) : Ref(static_cast<T*>(other.get())) {}
  ~Ref() {
    if (object_) release(object_);
  }
  Ref& operator=(const Ref& other) { return *this = Ref(other); }
  Ref& operator=(Ref&& other) noexcept {
    T* const taken = std::exchange(other.object_, nullptr);
    if (T* const old = std::exchange(object_, taken)) release(old);
    return *this;
  }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  friend bool operator==(const Ref& a, const Ref& b) { return a.object_ == b.object_; }

 private:
  T* object_ = nullptr;
};

template <class T, class... Args>
Ref<T> make_ref(Args&&... args) {
  T* const object = new T(std::forward<Args>(args)...);
  object->add_first_owner();
  return Ref<T>::adopt(object);
}

}  // namespace kiln
