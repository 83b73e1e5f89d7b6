// Kernels that scan: along a dimension each place gets the reduction of the elements up to it, in order. Contiguous
// lines are scanned by a warp or a block, tile by tile; others, and short ones, by one thread each. If there are too
// few lines to fill the device, each is split into pieces: one kernel reduces these, a second computes the state before
// each, and a third scans them.
#pragma once
#include "kiln/backend/gpu/family/rows/folding.hpp"

namespace kiln::gpu::family {

/// The scan as functions of a state, which is a list of values and reduces consecutive elements.
struct Scanning {
  std::function<Exprs()> nothing;
  /// The state of one element: from its loaded inputs, and its place (uint32) in the order of the scan.
  std::function<Exprs(const Exprs& loaded, const Expr& place)> element;
  Merge merge;  // combines what comes before with what follows
  /// What is stored for a place, from its state.
  std::function<Exprs(const Exprs& state)> outputs;
};

struct ScanShape {
  enum class Stage : std::uint8_t { Whole, Fold, Before, Scan };
  Stage stage = Stage::Whole;
  DType index = DType::I32;
  int lanes = 1;  // threads per line: 1, a warp, or a block
  int width = 1;  // neighbours that a thread takes at once: of a line, or, with one thread per line, of adjacent lines
  bool exclusive = false, reverse = false;
};

/// The body of such a kernel, over contiguous arrays [outer, length, inner]. Its parameters are the inputs, the
/// outputs, the states of pieces, and the sizes; then come the family's own.
class Scanner {
 public:
  static constexpr int kThreads = 256;
  Scanner(Builder& k, const ScanShape& shape, std::span<const DType> inputs, std::span<const DType> outputs,
          std::span<const DType> state);
  const Expr& length() const { return length_; }
  void run(const Scanning& scanning);

 private:
  struct ScanPiece {
    Expr line, number, base, begin, end, inside;
  };
  ScanPiece piece() const;
  /// The offset of the state of piece `number` of a line.
  Expr place_of(const Expr& line, const Expr& number) const { return number * lines_ * line_width() + line; }
  int line_width() const { return shape_.lanes == 1 ? shape_.width : 1; }
  Exprs first_state(const Scanning& scanning, const ScanPiece& piece, int lane);
  void keep_state(const ScanPiece& piece, int lane, const Exprs& state);
  Expr at(const ScanPiece& piece, const Expr& place) const;
  void run_before(const Scanning& scanning);
  void run_threads(const Scanning& scanning);
  void run_teams(const Scanning& scanning);
  std::vector<Local> begin_tiles(const Exprs& state);
  Exprs before_mine(const Scanning& scanning, const Exprs& mine, std::span<const Local> carry);
  void run_tile(const Scanning& scanning, const ScanPiece& piece, const Expr& place, std::span<const Local> carry);

  Builder& k_;
  const ScanShape& shape_;
  std::vector<Buffer> inputs_, outputs_, states_;
  Expr lines_, length_, inner_, chunk_, pieces_;
  std::vector<Shared> shared_;
};

struct ScanLaunch {
  ScanShape shape;
  std::int64_t blocks = 0;
  std::vector<Argument> arguments{};
};
/// One launch or three over arrays [outer, length, inner]; `held` owns the scratch between them.
std::vector<ScanLaunch> plan_scan(Gpu& gpu, const Shape& shape, bool exclusive, bool reverse,
                                  std::span<const Array> inputs, std::span<const Array> outputs,
                                  std::span<const DType> state, std::vector<Value>& held);

/// Launches the kernels of `source`, which has a field `ScanShape shape`.
template <KernelSource Source>
void scan(Gpu& gpu, Source source, const Shape& shape, bool exclusive, bool reverse, std::span<const Array> inputs,
          std::span<const Array> outputs, std::span<const DType> state) {
  std::vector<Value> held;
  for (ScanLaunch& each : plan_scan(gpu, shape, exclusive, reverse, inputs, outputs, state, held)) {
    source.shape = each.shape;
    gpu.launch(source, each.blocks, each.arguments);
  }
}

}  // namespace kiln::gpu::family
