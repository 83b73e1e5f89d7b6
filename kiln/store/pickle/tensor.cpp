#include "kiln/store/pickle/tensor.hpp"

#include <algorithm>
#include <span>

#include "kiln/core/error/shown.hpp"
#include "kiln/core/text.hpp"
#include "kiln/store/pickle/numpy.hpp"

namespace kiln::pickle {
namespace {

struct NamedType {
  std::string_view name;
  DType dtype;
};
constexpr NamedType kStorages[] = {{"DoubleStorage", DType::F64}, {"FloatStorage", DType::F32},
                                   {"HalfStorage", DType::F16},   {"BFloat16Storage", DType::BF16},
                                   {"LongStorage", DType::I64},   {"IntStorage", DType::I32},
                                   {"ShortStorage", DType::I16},  {"CharStorage", DType::I8},
                                   {"ByteStorage", DType::U8},    {"BoolStorage", DType::Bool}};
constexpr NamedType kTypes[] = {
    {"float64", DType::F64}, {"double", DType::F64}, {"float32", DType::F32},   {"float", DType::F32},
    {"float16", DType::F16}, {"half", DType::F16},   {"bfloat16", DType::BF16}, {"int64", DType::I64},
    {"long", DType::I64},    {"int32", DType::I32},  {"int", DType::I32},       {"int16", DType::I16},
    {"short", DType::I16},   {"int8", DType::I8},    {"uint64", DType::U64},    {"uint32", DType::U32},
    {"uint16", DType::U16},  {"uint8", DType::U8},   {"bool", DType::Bool}};

constexpr OtherType kOthers[] = {{"", "float8_e4m3fn", 1},
                                 {"", "float8_e4m3fnuz", 1},
                                 {"", "float8_e5m2", 1},
                                 {"", "float8_e5m2fnuz", 1},
                                 {"", "float8_e8m0fnu", 1},
                                 {"", "float4_e2m1fn_x2", 1},
                                 {"", "complex32", 4},
                                 {"ComplexFloatStorage", "complex64", 8},
                                 {"ComplexDoubleStorage", "complex128", 16},
                                 {"QInt8Storage", "qint8", 1},
                                 {"QUInt8Storage", "quint8", 1},
                                 {"QInt32Storage", "qint32", 4}};

const OtherType* find_other(std::string_view OtherType::* key, std::string_view name) {
  for (const OtherType& other : kOthers)
    if (!name.empty() && other.*key == name) return &other;
  return nullptr;
}

const NamedType* find(std::span<const NamedType> table, std::string_view name) {
  const auto found = std::find_if(table.begin(), table.end(), [&](const NamedType& row) { return row.name == name; });
  return found == table.end() ? nullptr : &*found;
}

/// Returns whether it names one of PyTorch's element types. That includes those that Kiln does not have, which are
/// rejected later with a better message.
bool names_type(const Global& global) {
  return global.module == "torch" &&
         (global.name.ends_with("Storage") || find(kTypes, global.name) || global.name.starts_with("complex") ||
          global.name.starts_with("float8") || find_other(&OtherType::name, global.name));
}

bool is_untyped(const Global& global) { return global.module == "torch.storage" && global.name == "UntypedStorage"; }

/// Checks that the last element of a tensor is in its storage, and that the tensor does not repeat its elements too
/// often.
Problem check_extent(const Tensor& tensor) {
  constexpr std::int64_t kMostRepeats = 1024;
  const auto size = static_cast<std::int64_t>(size_of(tensor.dtype));
  const std::int64_t count = tensor.storage.typed ? tensor.storage.count : tensor.storage.count / size;
  if (tensor.storage.typed && tensor.storage.dtype != tensor.dtype) return "a tensor of another type than its storage";
  std::int64_t last = tensor.offset, elements = 1;
  bool overflow = tensor.offset < 0, empty = false;
  for (int i = 0; i < tensor.shape.size(); ++i) {
    std::int64_t step = 0;
    empty |= tensor.shape[i] == 0;
    const std::int64_t steps = std::max<std::int64_t>(tensor.shape[i], 1) - 1;
    overflow |= __builtin_mul_overflow(steps, tensor.strides[i], &step) || __builtin_add_overflow(last, step, &last) ||
                __builtin_mul_overflow(elements, steps + 1, &elements);
  }
  if (overflow || (!empty && (last >= count || elements / kMostRepeats > count)))
    return text("a tensor of shape ", tensor.shape, " and strides ", tensor.strides, " from element ", tensor.offset,
                " on goes beyond its storage of ", count, " elements");
  if (elements > INT64_MAX / size) return text("a tensor of shape ", tensor.shape, " is over 2^63 - 1 bytes");
  return {};
}

/// The arguments are (storage, offset, size, stride, requires_grad, hooks). The function for untyped storages has the
/// type after these.
Problem rebuild(const List& arguments, bool names_type, Value& result) {
  Tensor tensor;
  const auto* const storage = arguments.size() > (names_type ? 6 : 3) ? arguments[0]->as<StorageRef>() : nullptr;
  const auto* const offset = storage ? arguments[1]->as<std::int64_t>() : nullptr;
  if (!offset || !read_dims(*arguments[2], tensor.shape) || !read_dims(*arguments[3], tensor.strides) ||
      tensor.shape.size() != tensor.strides.size())
    return "a tensor is not described by storage, offset, sizes and strides";
  tensor.storage = *storage;
  tensor.offset = *offset;
  tensor.dtype = storage->dtype;
  tensor.other = storage->other;
  if (names_type) {
    const auto* const global = arguments[6]->as<Global>();
    const NamedType* const type = global ? find(kTypes, global->name) : nullptr;
    if (global && !type) tensor.other = find_other(&OtherType::name, global->name);
    if (!type && !tensor.other)
      return text("a tensor of type ", shown(global ? global->name : ""), ", which Kiln does not have");
    if (type) tensor.dtype = type->dtype;
  }
  result.is = std::make_shared<const Tensor>(tensor);
  return tensor.other ? Problem() : check_extent(tensor);
}

Problem new_dict(const List& arguments, Value& result) {
  result.is = Dict();
  if (arguments.empty()) return {};
  const List* const pairs = arguments[0]->as<List>();
  if (arguments.size() > 1 || !pairs) return "a dict of something else than pairs";
  Dict dict;
  for (const Value* pair : *pairs) {
    const List* const both = pair->as<List>();
    if (!both || both->size() != 2) return "a dict of something else than pairs";
    dict.emplace_back((*both)[0], (*both)[1]);
  }
  result.is = std::move(dict);
  return {};
}

Problem first_argument(const List& arguments, Value& result) {
  if (arguments.empty()) return "a call without arguments";
  result = *arguments[0];
  return {};
}

Problem all_arguments(const List& arguments, Value& result) {
  result.is = arguments;
  return {};
}

using Call = Problem (*)(const List&, Value&);
struct Function {
  std::string_view module, name;
  Call call;
};
constexpr Function kFunctions[] = {
    {"collections", "OrderedDict", new_dict},
    {"torch._utils", "_rebuild_tensor",
     [](const List& arguments, Value& result) { return rebuild(arguments, false, result); }},
    {"torch._utils", "_rebuild_tensor_v2",
     [](const List& arguments, Value& result) { return rebuild(arguments, false, result); }},
    {"torch._utils", "_rebuild_tensor_v3",
     [](const List& arguments, Value& result) { return rebuild(arguments, true, result); }},
    // A parameter is read as its tensor.
    {"torch._utils", "_rebuild_parameter", first_argument},
    {"torch._utils", "_rebuild_parameter_with_state", first_argument},
    {"_codecs", "encode", first_argument},  // bytes, in protocol 2
    {"torch", "Size", first_argument},
    {"torch", "device", first_argument},
    {"builtins", "set", first_argument},
    {"__builtin__", "set", first_argument},
    {"collections", "Counter", first_argument},
    {"collections", "defaultdict", [](const List&, Value& result) { return new_dict({}, result); }},
    {"pathlib", "PosixPath", all_arguments},
    {"pathlib", "WindowsPath", all_arguments},
    // These are TorchScript's typed lists and dicts.
    {"torch.jit._pickle", "build_intlist", first_argument},
    {"torch.jit._pickle", "build_doublelist", first_argument},
    {"torch.jit._pickle", "build_boollist", first_argument},
    {"torch.jit._pickle", "build_tensorlist", first_argument},
    {"torch.jit._pickle", "restore_type_tag", first_argument},
    // These are the names of NumPy 2 and 1.
    {"numpy", "dtype", element_type},
    {"numpy._core.multiarray", "scalar", numpy_number},
    {"numpy.core.multiarray", "scalar", numpy_number},
    {"numpy._core.multiarray", "_reconstruct", empty_array},
    {"numpy.core.multiarray", "_reconstruct", empty_array},
};
// These are named as classes of what defaultdicts and arrays contain, and are never called.
constexpr Global kClasses[] = {{"numpy", "ndarray"},    {"builtins", "list"},   {"builtins", "dict"},
                               {"builtins", "int"},     {"builtins", "float"},  {"__builtin__", "list"},
                               {"__builtin__", "dict"}, {"__builtin__", "int"}, {"__builtin__", "float"}};

bool is_class(const Global& global) {
  return std::any_of(std::begin(kClasses), std::end(kClasses),
                     [&](const Global& known) { return known.module == global.module && known.name == global.name; });
}

const Function* find_function(const Global& global) {
  for (const Function& function : kFunctions)
    if (function.module == global.module && function.name == global.name) return &function;
  return nullptr;
}

}  // namespace

bool read_dims(const Value& value, Dims& dims) {
  const List* const list = value.as<List>();
  if (!list || list->size() > kMaxRank) return false;
  for (const Value* entry : *list) {
    const auto* const number = entry->as<std::int64_t>();
    if (!number || *number < 0) return false;
    dims.push_back(*number);
  }
  return true;
}

bool is_plain_data_class(const Global& global) {
  return global.module == "__torch__" || global.module.starts_with("__torch__.") ||
         (global.module == "argparse" && global.name == "Namespace");
}

bool is_known(const Global& global) {
  return find_function(global) || is_untyped(global) || is_plain_data_class(global) || is_class(global) ||
         names_type(global);
}

Problem read_storage(const Value& id, StorageRef& storage) {
  constexpr auto kWrong = "a persistent id that is no storage of tensors";
  const List* const parts = id.as<List>();
  if (!parts || parts->size() < 5 || !(*parts)[0]->as<Text>() || (*parts)[0]->as<Text>()->text != "storage")
    return kWrong;
  const auto* const type = (*parts)[1]->as<Global>();
  const auto* const key = (*parts)[2]->as<Text>();
  const auto* const count = (*parts)[4]->as<std::int64_t>();
  if (!type || !key || !count || *count < 0) return kWrong;
  if (parts->size() > 5 && !(*parts)[5]->as<std::nullptr_t>()) return "a storage that is a view of another";
  storage = {.key = key->text, .count = *count, .typed = !is_untyped(*type)};
  if (!storage.typed) return {};
  const NamedType* const named = type->module == "torch" ? find(kStorages, type->name) : nullptr;
  if (!named && type->module == "torch") storage.other = find_other(&OtherType::storage, type->name);
  if (storage.other) return {};
  if (!named) return text("a storage of type ", shown(type->name), ", which Kiln does not have");
  storage.dtype = named->dtype;
  return {};
}

Problem call(const Global& global, const List& arguments, Value& result) {
  const Function* const function = find_function(global);
  if (!function)
    return text("REDUCE calls ", shown(global.module), '.', shown(global.name), ", which is no function here");
  return function->call(arguments, result);
}

}  // namespace kiln::pickle
