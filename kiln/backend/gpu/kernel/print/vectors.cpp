// Shared memory as vectors of words, in GLSL: so that several elements are loaded and stored at once.
#include <algorithm>
#include <bit>

#include "kiln/backend/gpu/kernel/print/body.hpp"
#include "kiln/backend/gpu/kernel/print/words.hpp"
#include "kiln/core/text.hpp"
#include "kiln/ops/expression/convert.hpp"

namespace kiln::gpu {

/// What is done with each shared array.
void Body::note_accesses(const Statements& list, std::vector<Accesses>& all) const {
  const auto note = [&](std::uint16_t place, std::size_t elements) {
    const std::size_t bytes = elements * size_of(kernel_.shared[place].dtype);
    all[place].least = std::min(all[place].least, bytes);
    all[place].most = std::max(all[place].most, bytes);
  };
  for (const Statement& statement : list) {
    const Instruction& in = statement.instruction;
    if (statement.kind == Statement::Kind::StoreShared) note(statement.place, statement.operands.size() - 1);
    if (statement.kind == Statement::Kind::Let) {
      if (in.kind == Kind::Shared) note(in.place, in.width);
      if (in.kind == Kind::SharedPair) note(in.place, 2);
      if (in.kind == Kind::UpdateShared || in.kind == Kind::SharedSame) all[in.place].others = true;
    }
    for (const Statements* const part : {&statement.head, &statement.body, &statement.otherwise})
      note_accesses(*part, all);
  }
}

// A vector's components can be stored by themselves, but not parts of a component.
void Body::find_shared_vectors() {
  vectors_.assign(kernel_.shared.size(), 0);
  if (!target_.has_references) return;
  std::vector<Accesses> all(kernel_.shared.size());
  note_accesses(kernel_.body, all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t size = size_of(kernel_.shared[i].dtype), bytes = size == 4 ? all[i].most : all[i].least;
    if (!all[i].others && all[i].most && size <= 4 && bytes >= (size == 4 ? 8 : 4) && bytes <= 16) vectors_[i] = bytes;
  }
}

std::string Body::shared_array(std::size_t i) const {
  const Kernel::Array& array = kernel_.shared[i];
  if (!vectors_[i]) return text("shared ", stored(array.dtype), " m", i, "[", array.count, "];\n");
  const std::int64_t each = in_vector(i);
  return text("shared ", type_of_words(vectors_[i]), " m", i, "[", (array.count + each - 1) / each, "];\n");
}

std::int64_t Body::in_vector(std::size_t i) const {
  return vectors_[i] ? static_cast<std::int64_t>(vectors_[i] / size_of(kernel_.shared[i].dtype)) : 1;
}

// An index that is a multiple of a literal is divided here and now, so that what is left of it can be added up at once.
std::string Body::vector_index(std::uint16_t place, Id index) const {
  const std::int64_t each = in_vector(place);
  const Instruction* const made = made_[index];
  if (made && made->kind == Kind::Compute && made->arithmetic == Arithmetic::Multiply && each > 1)
    if (const Instruction* const by = made_[made->operands[1]]; by && by->kind == Kind::Literal)
      if (const auto literal = static_cast<std::int64_t>(static_cast<std::int32_t>(by->bits)); literal % each == 0) {
        const std::string of = this->index(made->operands[0]);
        return literal == each ? of : text(of, " * ", literal / each);
      }
  const int shift = std::countr_zero(static_cast<std::uint64_t>(each));
  return shift ? text("(", this->index(index), ") >> ", shift) : this->index(index);
}

/// Vector number `more` from that of the element at `index` on; or a component of it.
std::string Body::vector_at(std::uint16_t place, Id index, std::size_t more) const {
  const std::string at = vector_index(place, index);
  return more ? text("m", place, "[(", at, ") + ", more, "]") : text("m", place, "[", at, "]");
}
std::string Body::component_at(std::uint16_t place, Id index, std::size_t more) const {
  const std::int64_t each = in_vector(place);
  const std::string at = more ? text("(", this->index(index), " + ", more, ")") : this->index(index);
  return text("m", place, "[", at, " >> ", std::countr_zero(static_cast<std::size_t>(each)), "][", at, " & ", each - 1,
              "]");
}

void Body::load_vectors(const Statement& statement, const std::string& indent) {
  const Instruction& in = statement.instruction;
  const DType dtype = kernel_.shared[in.place].dtype;
  const std::size_t bytes = vectors_[in.place], all = in.width * size_of(dtype), each = bytes / size_of(dtype);
  if (all < bytes) {
    for (Id i = 0; i < in.width; ++i)
      define(statement.first + i,
             expr::loaded(printer_, element_of(component_at(in.place, in.operands[0], i), dtype, 4, 0), dtype), indent);
    return;
  }
  for (std::size_t part = 0; part < all / bytes; ++part) {
    const std::string loaded = text("w", statement.first, "_", part);
    out_ += text(indent, type_of_words(bytes), " ", loaded, " = ", vector_at(in.place, in.operands[0], part), ";\n");
    for (std::size_t i = 0; i < each; ++i)
      define(statement.first + static_cast<Id>(part * each + i),
             expr::loaded(printer_, element_of(loaded, dtype, bytes, i), dtype), indent);
  }
}

void Body::store_vectors(const Statement& statement, const std::string& indent) {
  const std::span<const Id> values = std::span(statement.operands).subspan(1);
  const Id at = statement.operands[0];
  const DType dtype = kernel_.shared[statement.place].dtype;
  const std::size_t bytes = vectors_[statement.place], each = bytes / size_of(dtype);
  if (values.size() < each) {
    for (std::size_t i = 0; i < values.size(); ++i)
      out_ += text(indent, component_at(statement.place, at, i), " = ", packed(values.subspan(i, 1), dtype), ";\n");
    return;
  }
  for (std::size_t part = 0; part < values.size() / each; ++part)
    out_ += text(indent, vector_at(statement.place, at, part), " = ", packed(values.subspan(part * each, each), dtype),
                 ";\n");
}

}  // namespace kiln::gpu
