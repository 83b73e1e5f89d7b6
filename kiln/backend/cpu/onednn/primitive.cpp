#include "kiln/backend/cpu/onednn/primitive.hpp"

#include <algorithm>
#include <unordered_map>

#include <dnnl_debug.h>

#include "kiln/backend/cpu/kernel.hpp"

namespace kiln::cpu::onednn {
namespace {

struct Slot {
  StoredSignature recipe;
  Primitive primitive;
  std::uint64_t used = 0;
};
struct Cache {
  std::unordered_multimap<std::size_t, Slot> slots;  // by the hash of the recipe
  std::uint64_t uses = 0;
};

Cache& cache() {
  thread_local Cache own;
  return own;
}

}  // namespace

std::byte* scratchpad(std::size_t bytes) {
  thread_local Ref<Memory> block;
  if (!block || block->size() < bytes) {
    block = {};
    block = make_ref<Memory>(bytes);
  }
  return block->bytes();
}

Primitive::Primitive(const dnnl::primitive_desc_base& descriptor, std::initializer_list<int> roles)
    : primitive_(descriptor.get()) {
  const auto add = [&](int role, const MemoryDesc& desc) {
    memories_.push_back(dnnl::memory(desc, engine(), DNNL_MEMORY_NONE));
    arguments_.push_back({role, memories_.back().get()});
  };
  for (const int role : roles) add(role, descriptor.query_md(dnnl::query::exec_arg_md, role));
  const MemoryDesc scratch = descriptor.query_md(dnnl::query::scratchpad_md);
  scratchpad_bytes_ = scratch.get_size();
  if (scratchpad_bytes_ > 0) add(DNNL_ARG_SCRATCHPAD, scratch);
  implementation_ = descriptor.impl_info_str();
  fast_ = implementation_.find("ref") == std::string::npos;
}

void Primitive::place(std::size_t position, const void* data) {
  set_data(memories_[position], const_cast<void*>(data));
}

void Primitive::execute() {
  KILN_CHECK(!arguments_.empty());
  if (scratchpad_bytes_ > 0) set_data(memories_.back(), scratchpad(scratchpad_bytes_));
  const dnnl_status_t status =
      dnnl_primitive_execute(primitive_.get(), stream().get(), static_cast<int>(arguments_.size()), arguments_.data());
  require<MemoryError>(status == dnnl_success, "cpu: oneDNN could not run a kernel: ", dnnl_status2str(status));
}

const dnnl::primitive_attr& attributes() {
  static const dnnl::primitive_attr ours = [] {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    return attributes;
  }();
  return ours;
}

Primitive& detail::cached(const Signature& recipe, FunctionRef<Primitive()> make) {
  auto& [slots, uses] = cache();
  auto [found, end] = slots.equal_range(recipe.hash());
  while (found != end && found->second.recipe.get() != recipe) ++found;
  if (found == end) {
    Primitive made;
    try {
      made = make();
    } catch (const dnnl::error&) {
      // oneDNN does not support this case: an empty primitive records that.
    }
    if (slots.size() >= kMostPrimitives)
      slots.erase(std::min_element(slots.begin(), slots.end(),
                                   [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
    found = slots.emplace(recipe.hash(), Slot{StoredSignature(recipe), std::move(made)});
  }
  found->second.used = ++uses;
  return found->second.primitive;
}

std::size_t cached_primitives() { return cache().slots.size(); }

}  // namespace kiln::cpu::onednn
