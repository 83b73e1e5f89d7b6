// The statements of a kernel in the language of a target. What stands around them is declare.cpp's.
#pragma once
#include <set>
#include <span>

#include "kiln/backend/gpu/kernel/kernel.hpp"
#include "kiln/backend/gpu/kernel/print/targets.hpp"
#include "kiln/ops/expression/print.hpp"

namespace kiln::gpu {

class Body {
 public:
  Body(const Kernel& kernel, const Target& target);

  /// The statements; afterwards library() has the functions that they call.
  std::string print();
  const std::string& library() const { return printer_.library(); }
  /// The types of words that they load and store at once (words.cpp), declared.
  const std::set<std::string>& word_types() const { return words_; }
  /// GLSL's declaration of shared array `i`.
  std::string shared_array(std::size_t i) const;
  /// The constants and the variables that matrices are declared by (matrices.cpp).
  std::string matrix_declarations() const;
  std::string matrix_variables() const;

  const Kernel& kernel() const { return kernel_; }
  const Target& target() const { return target_; }
  bool is(expr::Dialect::Syntax syntax) const { return target_.dialect->syntax == syntax; }

  std::string_view type(DType dtype) const { return dtype == DType::Bool ? "bool" : target_.dialect->type(dtype); }
  /// The type of elements in memory.
  std::string_view stored(DType dtype) const;
  std::string pointer(const Parameter& parameter) const;
  /// Is anything in the buffer, or shared array, updated atomically? WGSL declares such arrays otherwise.
  bool updates(std::uint16_t buffer) const { return has_update(kernel_.body, Instruction::Kind::Update, buffer); }
  bool updates_shared(std::uint16_t array) const {
    return has_update(kernel_.body, Instruction::Kind::UpdateShared, array);
  }

 private:
  using Kind = Instruction::Kind;

  static bool has_update(const Statements& list, Kind kind, std::uint16_t place);
  DType type_of(Id id) const { return kernel_.values[id]; }
  static std::string name(Id id);
  std::vector<std::string> names(const std::vector<Id>& ids) const;
  static std::string buffer(std::uint16_t place);
  /// An index of an array; `more` is added to it.
  std::string index(Id id, Id more = 0) const;
  std::string pack(DType dtype, std::size_t width) const;
  /// Tables and chosen buffers are possible.
  bool has_tables() const { return target_.has_pointers || target_.has_references; }
  /// The address of the element of buffer `place` at the index `id`, of which GLSL makes a reference.
  std::string moved(std::uint16_t place, Id id) const;
  /// Element `id` + `more` of a buffer, where the target has references.
  std::string referred(std::uint16_t place, Id id, Id more) const;
  [[noreturn]] void lacks(std::string_view what) const;

  // value.cpp
  std::string value(const Instruction& in);
  std::string literal(DType dtype, std::uint64_t bits) const;
  std::string compute(const Instruction& in) const;
  std::string cast(const std::string& x, DType to) const;
  std::string bits(const std::string& x, DType from, DType to) const;
  std::string update(const Instruction& in) const;
  std::string shuffled(const Instruction& in) const;
  /// The element at an index of a buffer or a shared array, as stored.
  std::string element(const Instruction& in, Id more = 0) const;
  std::string local(std::uint16_t place, Id index) const;

  // words.cpp
  bool is_in_words(DType dtype, std::size_t width) const;
  std::string words(std::uint16_t place, Id index, std::size_t width);
  void load_words(const Statement& statement, const std::string& indent);
  void store_words(const Statement& statement, const std::string& indent);

  std::string packed(std::span<const Id> values, DType dtype);

  // vectors.cpp
  struct Accesses {
    std::size_t least = 16, most = 0;  // bytes
    bool others = false;               // accesses that vectors do not have
  };
  void note_accesses(const Statements& list, std::vector<Accesses>& all) const;
  void find_shared_vectors();
  /// How many elements a vector of that shared array has; 1 where it is no array of vectors.
  std::int64_t in_vector(std::size_t array) const;
  /// The index of the vector that the element at `index` is in.
  std::string vector_index(std::uint16_t place, Id index) const;
  std::string vector_at(std::uint16_t place, Id index, std::size_t more) const;
  std::string component_at(std::uint16_t place, Id index, std::size_t more) const;
  void load_vectors(const Statement& statement, const std::string& indent);
  void store_vectors(const Statement& statement, const std::string& indent);

  // matrices.cpp
  void matrix(const Statement& statement, const std::string& indent);

  // body.cpp
  void statements(const Statements& list, const std::string& indent);
  void block(const Statements& list, const std::string& indent);
  void let(const Statement& statement, const std::string& indent);
  void let_several(const Statement& statement, const std::string& indent);
  bool is_weak_exchange(const Instruction& in) const;
  void exchange(const Statement& statement, const std::string& indent);
  void fragments(const Statement& statement, const std::string& indent);
  void define(Id id, const std::string& value, const std::string& indent);
  void store(const Statement& statement, const std::string& indent);
  void choose(const Statement& statement, const std::string& indent);
  void branch(const Statement& statement, const std::string& indent);
  void loop(const Statement& statement, const std::string& indent);
  void loop_while(const Statement& statement, const std::string& indent);
  void arrive(const std::string& cell, const std::string& indent);
  void await(const std::string& cell, const std::string& count, const std::string& indent);

  const Kernel& kernel_;
  const Target& target_;
  expr::Printer printer_;
  bool shares_buffers_ = false;           // is there a buffer that is both read and written?
  std::vector<const Instruction*> made_;  // what makes each value, as far as it has been said
  std::string out_;
  std::set<std::string> words_;
  std::vector<std::size_t> vectors_;  // bytes of the vectors of each shared array; 0: it has elements
};

/// The type of references to buffer parameter `place`, as declare.cpp declares it.
std::string reference_type(std::uint16_t place);
/// How GLSL declares what a kernel does with a buffer: "readonly ".
std::string_view access_of_glsl(const Parameter& parameter);

/// `form` with $0, $1, ... replaced, and $t and $s by the last two.
std::string filled(std::string_view form, std::span<const std::string> operands, std::string_view t = {},
                   std::string_view s = {});

}  // namespace kiln::gpu
