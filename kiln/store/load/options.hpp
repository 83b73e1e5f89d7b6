// How a file becomes a model that was not saved from it, and what came of that.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "kiln/nn/module/selector.hpp"
#include "kiln/store/format/edit.hpp"

namespace kiln {

/// Which element type a loaded float tensor has: the object's, or the file's.
enum class FloatPolicy : std::uint8_t { AsObject, AsFile };

struct LoadOptions {
  bool allow_unexpected = false;  // the file may hold tensors that the object has none of
  bool allow_missing = false;     // what the file lacks stays as it is in the object
  bool allow_mismatched = false;  // likewise what has another shape or kind there
  FloatPolicy floats = FloatPolicy::AsObject;

  // What is done to the file's tensors before they are compared with the object's, in this order.
  std::string under = {};               // only those below this key, without it: "model", "state_dict"
  bool pytorch_layers = false;          // with_pytorch_layers(): the names that PyTorch's LSTM, attention, ... have
  std::vector<TensorSplit> split = {};  // one tensor that is several of the object's
  std::vector<Rename> rename = {};      // norm_names() among them
  bool close_gaps = false;              // without_gaps()
  // Names under which tensors are there once more: {{"head.weight", "embedding.weight"}} where a model of two parameters has
  // the file of one in which they are tied. What the file has by such a name itself stays.
  std::map<std::string, std::string> also = {};
  // Which of the object's parts are loaded: the others stay as they are, whether the file has them or not. What a file
  // has beyond the object is selected by its name alone, and left out is not unexpected.
  Selector only = Selector::all();
  Selector except = Selector::none();
  std::vector<Layout> layouts = {};  // transposed_linear(), from_hwio(), ...

  /// So many elements of each float tensor are looked at: NaN and infinities are warned of. Looking at all (-1) reads a
  /// mapped file whole.
  std::int64_t look_at = 1 << 12;
};

/// What load() has done, name by name.
struct LoadReport {
  std::vector<std::string> loaded;      // names of the object's parts
  std::vector<std::string> missing;     // "'head.weight' is missing (did you mean 'fc.weight'?)"
  std::vector<std::string> mismatched;  // "tensor 'w' has shape [2, 3], the module expects [2, 4]"
  std::vector<std::string> unused;      // names in the file, after renaming
  std::vector<std::string> warnings;    // "tensor 'w' holds NaN"

  /// All that the file and the object had was taken over.
  bool complete() const { return missing.empty() && mismatched.empty() && unused.empty(); }
};

/// "61 loaded; 'head.weight' is missing; ...", one line each.
void append(std::string& out, const LoadReport& report);

/// Is it among what `options` want to be loaded?
bool wants(const LoadOptions& options, const Candidate& candidate);
bool wants(const LoadOptions& options, std::string_view path);

/// The file's tensors under other names and in other layouts, as `options` say; for load(). Throws ArgumentError or
/// DataError as kiln/store/format/edit.hpp.
TensorSource edited(TensorSource source, const LoadOptions& options, std::string_view file);

}  // namespace kiln
