// The key of a cached object: a plain struct, compared by its type and by all of its content. The maker of the object
// gets nothing but this struct, so no input can be missing from the key.
#pragma once
#include <cstddef>
#include <memory>
#include <type_traits>

#include "kiln/core/reflect/reflect_values.hpp"
#include "kiln/core/reflect/reflect_words.hpp"

namespace kiln {

namespace detail {

/// A type declares itself plain with a `kPlain` member if reflection cannot read it and it has a hash_value() and a ==
/// that compare everything in it.
template <class T>
concept DeclaresPlain = requires { requires T::kPlain; };

template <class T>
constexpr bool is_plain() {
  if constexpr (DeclaresPlain<T> || reflect::HasWords<T>) {
    return true;
  } else if constexpr (reflect::Aggregate<T>) {  // one of its fields declares itself plain
    return std::is_copy_assignable_v<T> && []<std::size_t... I>(std::index_sequence<I...>) {
      return (is_plain<reflect::FieldType<T, I>>() && ...);
    }(std::make_index_sequence<reflect::field_count<T>>());
  } else {
    return false;
  }
}

}  // namespace detail

/// Structs of numbers, enumerators, lists of these and nested structs, so that == compares all of their content.
/// Pointers, references and lambdas are excluded.
template <class T>
concept Plain = reflect::Aggregate<T> && detail::is_plain<T>();

/// A view of a plain struct as a key that differs from those of all other types and values.
class Signature {
 public:
  template <Plain T>
  explicit Signature(const T& object)
      : kind_(&kKind<T>), object_(&object), hash_(reflect::detail::mix(kTypeHash<T>, reflect::hash(object))) {}

  std::size_t hash() const { return static_cast<std::size_t>(hash_); }
  friend bool operator==(const Signature& a, const Signature& b) {
    return a.kind_ == b.kind_ && a.hash_ == b.hash_ && a.kind_->equal(a.object_, b.object_);
  }

 private:
  friend class StoredSignature;
  struct Kind {
    bool (*equal)(const void*, const void*);
    std::shared_ptr<const void> (*copy)(const void*);
  };
  template <class T>
  static constexpr Kind kKind{
      [](const void* a, const void* b) { return reflect::equal(*static_cast<const T*>(a), *static_cast<const T*>(b)); },
      [](const void* object) -> std::shared_ptr<const void> {
        return std::make_shared<const T>(*static_cast<const T*>(object));
      }};
  // Hashes the type's name, not an address, so that the hash is the same in every process.
  template <class T>
  static constexpr std::uint64_t kTypeHash = [] {
    std::uint64_t hash = 0;
    for (const char letter : std::string_view(reflect::detail::type_text<T>()))
      hash = reflect::detail::mix(hash, static_cast<unsigned char>(letter));
    return hash;
  }();

  const Kind* kind_;
  const void* object_;
  std::uint64_t hash_;
};

/// A Signature with its own copy of the struct, for a cache to store.
class StoredSignature {
 public:
  explicit StoredSignature(const Signature& of) : object_(of.kind_->copy(of.object_)), signature_(of) {
    signature_.object_ = object_.get();
  }
  const Signature& get() const { return signature_; }

 private:
  std::shared_ptr<const void> object_;
  Signature signature_;
};

}  // namespace kiln
