#include "kiln/wire/op_wire.hpp"

#include <algorithm>
#include <array>

#include "kiln/wire/custom.hpp"
#include "kiln/wire/fields.hpp"
#include "kiln/wire/planned.hpp"

namespace kiln::wire {
namespace {

constexpr std::string_view kMagic = "kiln";

/// How one op of the table is read and identified. `older` is its fingerprint before ops had a precision: files of that time
/// are read, as Highest.
struct OpSchema {
  std::string_view name;
  std::string schema;
  std::uint64_t fingerprint, older;
  op::Op (*read)(Reader&);
};

template <class T>
std::string schema_of() {
  std::string schema(T::kName);
  if constexpr (requires { T::kRevision; }) schema += text('/', T::kRevision);
  if constexpr (op::Planned<T>) schema += text('/', kPlannedRevision);
  else if constexpr (!std::is_same_v<T, op::Custom>) append_schema<T>(schema);
  return schema;
}

/// "matmul{}" for "matmul{precision:Level}".
std::string without_precision(std::string schema) {
  constexpr std::string_view kField = "precision:Level";
  for (std::size_t at; (at = schema.find(kField)) != schema.npos;) {
    const bool follows = schema[at - 1] == ',';
    const bool leads = !follows && schema[at + kField.size()] == ',';
    schema.erase(follows ? at - 1 : at, kField.size() + (follows || leads));
  }
  return schema;
}

template <class T>
op::Op read_as(Reader& in) {
  if constexpr (std::is_same_v<T, op::Custom>) {
    in.wrong("a user's own operation without its name");
  } else if constexpr (op::Planned<T>) {
    if (!in.limits().planned) in.wrong("'", T::kName, "' is only for the device that planned it");
    T op{};
    read_planned(in, op);
    return op;
  } else {
    T op{};
    read_field(in, op);
    return op;
  }
}

template <class Alternatives>
struct Table;
template <class... Ops>
struct Table<std::variant<Ops...>> {
  static std::array<OpSchema, sizeof...(Ops)> make() {
    const auto row = []<class T>(const T*) {
      std::string schema = schema_of<T>();
      const std::uint64_t fingerprint = fingerprint_of(schema), older = fingerprint_of(without_precision(schema));
      return OpSchema{T::kName, std::move(schema), fingerprint, older, &read_as<T>};
    };
    return {row(static_cast<const Ops*>(nullptr))...};
  }
  static void append_enums(std::string& out) { (append_enums_of<Ops>(out), ...); }

  /// Appends "DType(float64|float32|...)" for each enum in the fields of T.
  template <class T>
  static void append_enums_of(std::string& out) {
    if constexpr (reflect::ScopedEnum<T>) {
      out += reflect::type_name<T>();
      for (const auto& [value, name] : reflect::enumerators<T>())
        out += text('|', name, '=', static_cast<std::int64_t>(value));
    } else if constexpr (reflect::VariantLike<T>) {
      reflect::detail::for_each_index<std::variant_size_v<T>>(
          [&](auto i) { append_enums_of<std::variant_alternative_t<i, T>>(out); });
    } else if constexpr (reflect::Aggregate<T>) {
      reflect::detail::for_each_index<reflect::field_count<T>>(
          [&](auto i) { append_enums_of<reflect::FieldType<T, i>>(out); });
    }
  }
};

const auto& rows() {
  static const auto rows = Table<op::Op::Alternatives>::make();
  return rows;
}

const OpSchema* find(std::string_view name) {
  const auto found = std::ranges::find(rows(), name, &OpSchema::name);
  return found == rows().end() ? nullptr : &*found;
}

/// Returns the row of a name, once its fingerprint has shown that the op is the same here.
const OpSchema& schema_for(Reader& in, Reader::Name& name) {
  if (name.resolved_by == &rows()) return rows()[static_cast<std::size_t>(name.number)];
  const OpSchema* const row = find(name.text);
  if (!row)
    in.wrong("this version of Kiln has no operation '", shown(name.text), "': another one wrote it, or it is damaged");
  name.lacks_precision = row->older == name.fingerprint && row->older != row->fingerprint;
  if (row->fingerprint != name.fingerprint && !name.lacks_precision)
    in.wrong("the operation '", row->name, "' has other fields in this version of Kiln, ", row->schema,
             ": read it with the version that wrote it, or write it again with this one");
  name.resolved_by = &rows();
  name.number = static_cast<std::uint64_t>(row - rows().data());
  return *row;
}

}  // namespace

std::uint64_t fingerprint(std::string_view op) {
  const OpSchema* const row = find(op);
  require<ArgumentError>(row, "fingerprint: there is no operation '", shown(op), "'");
  return row->fingerprint;
}

std::uint64_t table_fingerprint() {
  static const std::uint64_t whole = [] {
    std::string all = text(kVersion);
    for (const OpSchema& row : rows()) all += text(';', row.schema);
    Table<op::Op::Alternatives>::append_enums(all);
    return fingerprint_of(all);
  }();
  return whole;
}

std::vector<OpFingerprint> op_fingerprints() {
  std::vector<OpFingerprint> all;
  for (const OpSchema& row : rows()) all.push_back({row.name, row.fingerprint});
  return all;
}

void write_header(Writer& out) {
  out.bytes(std::as_bytes(std::span(kMagic)));
  out.whole(kVersion);
  out.fixed(table_fingerprint(), 8);
}

std::uint64_t read_header(Reader& in) {
  if (in.left() < kMagic.size() || !std::ranges::equal(in.bytes(kMagic.size()), std::as_bytes(std::span(kMagic))))
    in.wrong("it does not begin like a program of Kiln");
  if (const std::uint64_t version = in.whole(); version != kVersion)
    in.wrong("it is written in version ", version, " of the format, this version of Kiln reads version ", kVersion,
             ": read it with the version that wrote it");
  return in.fixed(8);
}

void write_op(Writer& out, const op::Op& op) {
  op::visit(op, [&]<class T>(const T& o) {
    if constexpr (std::is_same_v<T, op::Custom>) {
      write_custom(out, *o.op);
      write_field(out, o.precision);
    } else {
      out.op(T::kName, rows()[op.is.index()].fingerprint);
      if constexpr (op::Planned<T>) write_planned(out, o);
      else write_field(out, o);
    }
  });
}

op::Op read_op(Reader& in) {
  const Reader::Nested deeper(in);
  Reader::Name& name = in.op();
  if (is_custom(name.text)) {
    op::Custom custom{read_custom(in, name)};
    const Reader::OlderOp older(in, name.lacks_precision);
    read_field(in, custom.precision);
    return custom;
  }
  const OpSchema& schema = schema_for(in, name);
  const Reader::OlderOp older(in, name.lacks_precision);
  return schema.read(in);
}

void write_desc(Writer& out, const Desc& desc) { write_field(out, desc); }

Desc read_desc(Reader& in) {
  Desc desc;
  read_field(in, desc);
  std::int64_t count = static_cast<std::int64_t>(size_of(desc.dtype));
  bool overflow = false;
  // Sizes of 0 are taken as 1, as strides do.
  for (const std::int64_t size : desc.shape)
    overflow |= size < 0 || __builtin_mul_overflow(count, size > 0 ? size : 1, &count);
  if (overflow) in.wrong("a tensor of shape ", desc.shape, " cannot be");
  return desc;
}

}  // namespace kiln::wire
