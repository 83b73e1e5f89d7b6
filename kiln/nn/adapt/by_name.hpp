// Parts of a module that have names rather than fields.
#pragma once
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kiln/core/error/shown.hpp"
#include "kiln/core/error/suggest.hpp"
#include "kiln/nn/walk.hpp"

namespace kiln::nn {

/// A list of modules, each with a name, which may be a path with dots, such as that of a weight of another model. They
/// are visited in the order in which they were added.
template <class T>
class ByName {
 public:
  static constexpr bool kNamesItsParts = true;
  using Entry = std::pair<std::string, T>;

  /// Throws ArgumentError for a name that is taken or empty.
  T& add(const std::string& name, T part) {
    require<ArgumentError>(!name.empty() && !find(name), "'", shown(name),
                           "' cannot be added: ", name.empty() ? "it is empty" : "there is one already");
    return entries_.emplace_back(name, std::move(part)).second;
  }
  /// Throws ArgumentError if there is none of that name.
  void remove(std::string_view name) {
    const T* const part = &at(name);
    std::erase_if(entries_, [&](const Entry& entry) { return &entry.second == part; });
  }
  /// Null if there is none of that name.
  const T* find(std::string_view name) const {
    const auto found =
        std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.first == name; });
    return found == entries_.end() ? nullptr : &found->second;
  }
  T* find(std::string_view name) { return const_cast<T*>(std::as_const(*this).find(name)); }
  /// Throws ArgumentError if there is none of that name.
  const T& at(std::string_view name) const {
    if (const T* const part = find(name)) return *part;
    std::vector<std::string_view> names;
    for (const auto& [known, part] : entries_) names.push_back(known);
    fail<ArgumentError>("there is no '", shown(name), '\'', did_you_mean(name, names));
  }
  T& at(std::string_view name) { return const_cast<T&>(std::as_const(*this).at(name)); }

  std::size_t size() const { return entries_.size(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

  template <class F>
  void for_each_part(F&& f) {
    for (auto& [name, part] : entries_) f(std::string_view(name), part);
  }
  template <class F>
  void for_each_part(F&& f) const {
    for (const auto& [name, part] : entries_) f(std::string_view(name), part);
  }

 private:
  std::vector<Entry> entries_;
};

}  // namespace kiln::nn
