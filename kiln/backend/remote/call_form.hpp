// Call forms: what repeated calls have in common. A form is an op with its attributes, the descriptions of its operands and
// of its results; it is sent once, and a call is then the number of its form, its operands and its plain numbers.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "kiln/ops/backend.hpp"
#include "kiln/ops/op.hpp"
#include "kiln/wire/reader.hpp"
#include "kiln/wire/writer.hpp"

namespace kiln::remote {

struct FormOperand {
  enum class Is : std::uint8_t { Nothing, Tensor, Number };
  Is is = Is::Nothing;
  Desc desc;                // of a tensor
  Kind kind = Kind::Float;  // of a plain number
};

struct CallForm {
  op::Op op;
  std::string function;  // that the user called, for errors (CalledAs); empty where none is known
  std::vector<FormOperand> in;
  std::vector<Desc> out;
};

void write_form(wire::Writer& out, const op::Op& op, const Call& call, const char* function);
/// Throws DataError.
CallForm read_form(wire::Reader& in);

void write_number(wire::Writer& out, const Scalar& number);
Scalar read_number(wire::Reader& in, Kind kind);

/// Whether an error may occur that depends on the operands' elements.
bool may_fail_on_data(const op::Op& op);

/// The numbers of the forms that a client has sent.
class FormNumbers {
 public:
  struct Found {
    std::uint64_t number;
    bool is_new;
  };
  Found find_or_add(const op::Op& op, const Call& call, const char* function);
  std::size_t size() const { return static_cast<std::size_t>(count_); }
  void clear() {
    numbers_.clear();
    count_ = 0;
  }

 private:
  using Words = std::vector<std::uint64_t>;
  struct HashOfWords {
    std::size_t operator()(const Words& words) const;
  };

  Words key_;  // a member, so that its memory is reused
  std::unordered_map<Words, std::uint64_t, HashOfWords> numbers_;
  std::uint64_t count_ = 0;  // with forms that are used once
};

}  // namespace kiln::remote
