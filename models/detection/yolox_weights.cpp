// Weights under the names that YOLOX's own program gives them.
#include <iterator>
#include <utility>

#include "kiln/store/save.hpp"
#include "models/detection/yolox.hpp"

namespace kiln::models {
namespace {

std::vector<Rename> names_of_yolox() {
  return {{R"(^model\.)", ""},
          {R"(^backbone\.backbone\.stem\.conv\.)", "backbone.stem."},
          {R"(^backbone\.backbone\.dark2\.)", "backbone.stages.0."},
          {R"(^backbone\.backbone\.dark3\.)", "backbone.stages.1."},
          {R"(^backbone\.backbone\.dark4\.)", "backbone.stages.2."},
          {R"(^backbone\.backbone\.dark5\.1\.conv1\.)", "backbone.stages.3.pooling.reduce."},
          {R"(^backbone\.backbone\.dark5\.1\.conv2\.)", "backbone.stages.3.pooling.merge."},
          {R"(^backbone\.backbone\.dark5\.)", "backbone.stages.3."},
          {R"(^(backbone\.stages\.\d)\.0\.)", "$1.shrink."},
          {R"(^(backbone\.stages\.\d)\.[12]\.)", "$1.layer."},
          {R"(^backbone\.lateral_conv0\.)", "neck.up.0.conv."},
          {R"(^backbone\.C3_p4\.)", "neck.up.0.layer."},
          {R"(^backbone\.reduce_conv1\.)", "neck.up.1.conv."},
          {R"(^backbone\.C3_p3\.)", "neck.up.1.layer."},
          {R"(^backbone\.bu_conv2\.)", "neck.down.0.conv."},
          {R"(^backbone\.C3_n3\.)", "neck.down.0.layer."},
          {R"(^backbone\.bu_conv1\.)", "neck.down.1.conv."},
          {R"(^backbone\.C3_n4\.)", "neck.down.1.layer."},
          {R"(\.layer\.m\.(\d+)\.conv1\.)", ".layer.blocks.$1.reduce."},
          {R"(\.layer\.m\.(\d+)\.conv2\.)", ".layer.blocks.$1.spatial."},
          {R"(\.layer\.conv1\.)", ".layer.main."},
          {R"(\.layer\.conv2\.)", ".layer.side."},
          {R"(\.layer\.conv3\.)", ".layer.merge."},
          {R"(^head\.stems\.(\d)\.)", "heads.$1.stem."},
          {R"(^head\.cls_convs\.(\d)\.)", "heads.$1.class_convs."},
          {R"(^head\.reg_convs\.(\d)\.)", "heads.$1.box_convs."},
          {R"(^head\.cls_preds\.(\d)\.)", "heads.$1.classes."},
          {R"(^head\.reg_preds\.(\d)\.)", "heads.$1.boxes."},
          {R"(^head\.obj_preds\.(\d)\.)", "heads.$1.objectness."},
          {R"(\.dconv\.)", ".depthwise."},
          {R"(\.pconv\.)", "."},
          {R"(\.bn\.)", ".norm."}};
}

}  // namespace

LoadReport load_yolox(Yolox& model, const std::string& path, LoadOptions options) {
  std::vector<Rename> names = names_of_yolox();
  options.rename.insert(options.rename.begin(), std::make_move_iterator(names.begin()),
                        std::make_move_iterator(names.end()));
  // A file of a training that goes on holds its optimizer, too, and PyTorch's batch norms count their batches.
  options.except = options.except || "optimizer.**" || "**.num_batches_tracked";
  return load(model, path, options);
}

}  // namespace kiln::models
