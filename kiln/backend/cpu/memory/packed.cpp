#include "kiln/backend/cpu/memory/packed.hpp"

#include <memory>
#include <utility>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/core/reflect/signature.hpp"

namespace kiln::cpu {

struct PackedForms::Form {
  StoredSignature signature;
  Ref<Memory> block;
  Form* next;
};

/// A spin lock: portable builds have no mutex, and it is never held for long. There is one for all objects, with the
/// list of those that keep forms.
struct PackedForms::Lock {
  Lock() {
    while (busy.test_and_set(std::memory_order_acquire)) {}
  }
  ~Lock() { busy.clear(std::memory_order_release); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  inline static std::atomic_flag busy = ATOMIC_FLAG_INIT;
  inline static PackedForms* holders = nullptr;
};

PackedForms::Form* PackedForms::find(const Signature& signature) const {
  Form* form = first_.load(std::memory_order_relaxed);
  while (form && form->signature.get() != signature) form = form->next;
  return form;
}

/// Requires the lock. This object is not touched once it has no forms, because it may be destroyed then.
PackedForms::Form* PackedForms::detach_all() {
  Form* const forms = first_.load(std::memory_order_relaxed);
  if (!forms) return nullptr;
  (previous_ ? previous_->next_ : Lock::holders) = next_;
  if (next_) next_->previous_ = previous_;
  previous_ = next_ = nullptr;
  first_.store(nullptr, std::memory_order_release);
  return forms;
}

void PackedForms::end(Form* forms) {
  while (forms) delete std::exchange(forms, forms->next);
}

void PackedForms::forget() {
  requested_.store(0, std::memory_order_relaxed);
  if (!first_.load(std::memory_order_acquire)) return;
  Form* forms;
  {
    const Lock lock;
    forms = detach_all();
  }
  end(forms);
}

int PackedForms::count() const {
  const Lock lock;
  int count = 0;
  for (const Form* form = first_.load(std::memory_order_relaxed); form; form = form->next) ++count;
  return count;
}

Ref<Memory> detail::kept(const Value& operand, const Signature& form, std::size_t bytes,
                         FunctionRef<void(std::byte*)> pack) {
  PackedForms& forms = static_cast<const Memory&>(*operand.node()->storage).packed_forms();
  const auto known = [&]() -> Ref<Memory> {
    const PackedForms::Form* found = forms.find(form);
    return found ? found->block : Ref<Memory>();
  };
  if (forms.first_.load(std::memory_order_acquire)) {
    const PackedForms::Lock lock;
    if (Ref<Memory> block = known()) return block;
  }
  const std::uint64_t bits = std::uint64_t{1} << (form.hash() & 63) | std::uint64_t{1} << (form.hash() >> 6 & 63);
  if ((forms.requested_.fetch_or(bits, std::memory_order_relaxed) & bits) != bits) return {};

  const Purpose purpose{.use = MemoryUse::Packed, .desc = &operand.node()->desc};
  auto fresh = std::make_unique<PackedForms::Form>(
      PackedForms::Form{StoredSignature(form), make_ref<Memory>(bytes, purpose), nullptr});
  pack(fresh->block->bytes());
  const PackedForms::Lock lock;
  if (Ref<Memory> of_another_thread = known()) return of_another_thread;
  fresh->next = forms.first_.load(std::memory_order_relaxed);
  if (!fresh->next) {
    forms.next_ = PackedForms::Lock::holders;
    if (forms.next_) forms.next_->previous_ = &forms;
    PackedForms::Lock::holders = &forms;
  }
  Ref<Memory> block = fresh->block;
  forms.first_.store(fresh.release(), std::memory_order_release);
  return block;
}

void forget_packed() {
  for (;;) {
    PackedForms::Form* forms = nullptr;
    {
      const PackedForms::Lock lock;
      if (PackedForms::Lock::holders) forms = PackedForms::Lock::holders->detach_all();
    }
    if (!forms) return;
    PackedForms::end(forms);
  }
}

}  // namespace kiln::cpu
