// ai.onnx.ml: ensembles of decision trees. The three operators say the same in other words; one Forest runs them, on
// the host.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "kiln/onnx/operators/ml/scores.hpp"

namespace kiln::onnx {
namespace {

enum class Test : std::uint8_t { AtMost, Below, AtLeast, Above, Equal, NotEqual, Member, Leaf };

struct TreeNode {
  Test test = Test::Leaf;
  std::int64_t feature = 0;
  double threshold = 0;
  bool missing_is_true = false;
  std::int64_t yes = -1, no = -1;  // nodes
  std::vector<double> members{};
  std::vector<std::pair<std::int64_t, double>> votes{};  // targets and weights of a leaf
};

struct Forest {
  std::vector<TreeNode> nodes;
  std::vector<std::int64_t> roots;
  std::int64_t targets = 1;
  std::string aggregate = "SUM";
  std::vector<double> base;
};

bool holds(const TreeNode& node, double x) {
  if (x != x) return node.missing_is_true;
  switch (node.test) {
    case Test::AtMost: return x <= node.threshold;
    case Test::Below: return x < node.threshold;
    case Test::AtLeast: return x >= node.threshold;
    case Test::Above: return x > node.threshold;
    case Test::Equal: return x == node.threshold;
    case Test::NotEqual: return x != node.threshold;
    default: return std::find(node.members.begin(), node.members.end(), x) != node.members.end();
  }
}

// Every child is a node, every vote a target, and no way down comes back.
void check_forest(const Call& c, const Forest& forest, std::int64_t features) {
  const auto count = static_cast<std::int64_t>(forest.nodes.size());
  c.check(forest.targets >= 1 && forest.targets <= 1 << 16, "there are ", forest.targets, " targets");
  c.check(forest.base.empty() || static_cast<std::int64_t>(forest.base.size()) == forest.targets, forest.base.size(),
          " base values for ", forest.targets, " targets");
  std::vector<int> readers(forest.nodes.size());
  for (const TreeNode& node : forest.nodes) {
    for (const auto& [target, weight] : node.votes)
      c.check(target >= 0 && target < forest.targets, "a leaf votes for target ", target, " of ", forest.targets);
    if (node.test == Test::Leaf) continue;
    c.check(node.feature >= 0 && node.feature < features, "a node asks for feature ", node.feature, " of ", features);
    for (const std::int64_t child : {node.yes, node.no}) {
      c.check(child >= 0 && child < count, "a node leads to node ", child, " of ", count);
      ++readers[static_cast<std::size_t>(child)];
    }
  }
  for (const std::int64_t root : forest.roots)
    c.check(root >= 0 && root < count, "a root is node ", root, " of ", count);
  // Kahn's order reaches all nodes where there is no cycle.
  std::vector<std::size_t> ready;
  for (std::size_t i = 0; i < readers.size(); ++i)
    if (!readers[i]) ready.push_back(i);
  std::size_t seen = 0;
  while (!ready.empty()) {
    const TreeNode& node = forest.nodes[ready.back()];
    ready.pop_back();
    ++seen;
    if (node.test == Test::Leaf) continue;
    for (const std::int64_t child : {node.yes, node.no})
      if (--readers[static_cast<std::size_t>(child)] == 0) ready.push_back(static_cast<std::size_t>(child));
  }
  c.check(seen == forest.nodes.size(), "a tree leads back to one of its own nodes");
}

// x [rows, features] -> scores [rows, targets], in float64.
Value evaluate(const Call& c, const Forest& forest) {
  const Value x = c[0].rank() == 1 ? unsqueeze(c[0], 0) : c[0];
  c.check(x.rank() == 2, "x has the shape ", x.shape());
  check_forest(c, forest, x.dim(1));
  const TensorData data = x.data();
  const std::int64_t rows = x.dim(0), features = x.dim(1);
  TensorData out({rows, forest.targets}, DType::F64);
  const auto all = out.as<double>();
  const bool extreme = forest.aggregate == "MIN" || forest.aggregate == "MAX";
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::span<double> scores =
        all.subspan(static_cast<std::size_t>(row * forest.targets), static_cast<std::size_t>(forest.targets));
    std::vector<bool> voted(scores.size());
    for (const std::int64_t root : forest.roots) {
      const TreeNode* node = &forest.nodes[static_cast<std::size_t>(root)];
      while (node->test != Test::Leaf)
        node = &forest.nodes[static_cast<std::size_t>(
            holds(*node, data.at(row * features + node->feature)) ? node->yes : node->no)];
      for (const auto& [target, weight] : node->votes) {
        const auto t = static_cast<std::size_t>(target);
        if (!extreme || !voted[t]) scores[t] += weight;
        else scores[t] = forest.aggregate == "MIN" ? std::min(scores[t], weight) : std::max(scores[t], weight);
        voted[t] = true;
      }
    }
    for (std::size_t t = 0; t < scores.size(); ++t) {
      if (forest.aggregate == "AVERAGE" && !forest.roots.empty()) scores[t] /= static_cast<double>(forest.roots.size());
      if (!forest.base.empty()) scores[t] += forest.base[t];
    }
  }
  return from_data(std::move(out), c.device());
}

// Attribute NAME of floats, or NAME_as_tensor.
std::vector<double> numbers_of(const Call& c, const std::string& name) {
  if (const Datum* const tensor = c.tensor(name + "_as_tensor")) return tensor->value().data().to_vector<double>();
  const std::vector<float> list = c.floats(name);
  return {list.begin(), list.end()};
}

Test test_of(const Call& c, const std::string& mode) {
  static constexpr std::string_view kModes[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE",    "BRANCH_GT",
                                                "BRANCH_EQ",  "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF"};
  const auto found = std::find(std::begin(kModes), std::end(kModes), mode);
  c.check(found != std::end(kModes) && mode != "BRANCH_MEMBER", "a node has the mode '", mode, "'");
  return static_cast<Test>(found - std::begin(kModes));
}

// Trees as TreeEnsembleClassifier and -Regressor say them: nodes by tree and number, votes as lists beside them.
Forest forest_of(const Call& c, const std::string& votes, std::int64_t targets) {
  Forest forest;
  forest.targets = targets;
  const Ints tree = c.ints("nodes_treeids"), number = c.ints("nodes_nodeids"), feature = c.ints("nodes_featureids"),
             yes = c.ints("nodes_truenodeids"), no = c.ints("nodes_falsenodeids"),
             missing = c.ints("nodes_missing_value_tracks_true");
  const Strings modes = c.strings("nodes_modes");
  const std::vector<double> values = numbers_of(c, "nodes_values");
  const std::size_t n = modes.size();
  c.check(tree.size() == n && number.size() == n && feature.size() == n && yes.size() == n && no.size() == n &&
              values.size() == n && (missing.empty() || missing.size() == n),
          "the lists of nodes are not equally long");
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> places;
  for (std::size_t i = 0; i < n; ++i)
    c.check(places.emplace(std::pair(tree[i], number[i]), static_cast<std::int64_t>(i)).second, "node ", number[i],
            " of tree ", tree[i], " occurs twice");
  const auto place = [&](std::int64_t t, std::int64_t i) {
    const auto found = places.find({t, i});
    c.check(found != places.end(), "tree ", t, " has no node ", i);
    return found->second;
  };
  std::vector<bool> is_child(n);
  for (std::size_t i = 0; i < n; ++i) {
    TreeNode node{test_of(c, modes[i]), feature[i], values[i], !missing.empty() && missing[i] != 0};
    if (node.test != Test::Leaf) {
      node.yes = place(tree[i], yes[i]), node.no = place(tree[i], no[i]);
      is_child[static_cast<std::size_t>(node.yes)] = is_child[static_cast<std::size_t>(node.no)] = true;
    }
    forest.nodes.push_back(std::move(node));
  }
  for (std::size_t i = 0; i < n; ++i)
    if (!is_child[i]) forest.roots.push_back(static_cast<std::int64_t>(i));
  const Ints vote_tree = c.ints(votes + "_treeids"), vote_node = c.ints(votes + "_nodeids"),
             vote_target = c.ints(votes + "_ids");
  const std::vector<double> weights = numbers_of(c, votes + "_weights");
  c.check(vote_node.size() == vote_tree.size() && vote_target.size() == vote_tree.size() &&
              weights.size() == vote_tree.size(),
          "the lists of votes are not equally long");
  for (std::size_t i = 0; i < weights.size(); ++i)
    forest.nodes[static_cast<std::size_t>(place(vote_tree[i], vote_node[i]))].votes.emplace_back(vote_target[i],
                                                                                                 weights[i]);
  forest.base = numbers_of(c, "base_values");
  return forest;
}

Results tree_regressor(Call& c) {
  Forest forest = forest_of(c, "target", c.i("n_targets", 1));
  forest.aggregate = c.s("aggregate_function", "SUM");
  return of_type(post_transform(c, evaluate(c, forest), c.s("post_transform", "NONE")), DType::F32);
}

Results tree_classifier(Call& c) {
  const std::size_t count = c.strings("classlabels_strings").size() + c.ints("classlabels_int64s").size();
  Forest forest = forest_of(c, "class", static_cast<std::int64_t>(count));
  const std::string how = c.s("post_transform", "NONE");
  // If all votes are for one of two classes, the sign of its score decides.
  std::set<std::int64_t> voted;
  for (const TreeNode& node : forest.nodes)
    for (const auto& [target, weight] : node.votes) voted.insert(target);
  const bool binary = count == 2 && voted.size() == 1 && forest.base.size() <= 1;
  if (!binary) {
    const Value scores = evaluate(c, forest);
    return {labels_of_rows(c, scores, "classlabels_int64s"), of_type(post_transform(c, scores, how), DType::F32)};
  }
  forest.targets = 1;
  for (TreeNode& node : forest.nodes)
    for (auto& [target, weight] : node.votes) target = 0;
  // Votes are probabilities where none is negative, as those of random forests.
  const bool are_probabilities = std::all_of(forest.nodes.begin(), forest.nodes.end(), [](const TreeNode& node) {
    return std::all_of(node.votes.begin(), node.votes.end(), [](const auto& vote) { return vote.second >= 0; });
  });
  const Value pair =
      pair_of(of_type(evaluate(c, forest), DType::F32), how == "PROBIT" || (how == "NONE" && are_probabilities));
  return {labels_of_rows(c, pair, "classlabels_int64s"), post_transform(c, pair, how)};
}

// Inner nodes and leaves in lists of their own; leaves stand behind the nodes here.
Results tree_ensemble(Call& c) {
  const auto list = [&](const char* name) {
    const Datum* const tensor = c.tensor(name);
    return tensor ? tensor->value().data().to_vector<double>() : std::vector<double>();
  };
  const std::vector<double> modes = list("nodes_modes"), splits = list("nodes_splits"), weights = list("leaf_weights"),
                            members = list("membership_values");
  const Ints feature = c.ints("nodes_featureids"), yes = c.ints("nodes_truenodeids"), no = c.ints("nodes_falsenodeids"),
             yes_leaf = c.ints("nodes_trueleafs"), no_leaf = c.ints("nodes_falseleafs"),
             targets = c.ints("leaf_targetids"), missing = c.ints("nodes_missing_value_tracks_true");
  const std::size_t n = modes.size();
  c.check(splits.size() == n && feature.size() == n && yes.size() == n && no.size() == n && yes_leaf.size() == n &&
              no_leaf.size() == n && (missing.empty() || missing.size() == n) && targets.size() == weights.size(),
          "the lists of nodes or leaves are not equally long");
  Forest forest;
  forest.targets = c.i("n_targets", 1);
  forest.roots = c.ints("tree_roots");
  static constexpr const char* kAggregates[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  const std::int64_t aggregate = c.i("aggregate_function", 1);
  c.check(aggregate >= 0 && aggregate < 4, "aggregate_function is ", aggregate);
  forest.aggregate = kAggregates[aggregate];
  std::size_t member = 0;
  for (std::size_t i = 0; i < n; ++i) {
    c.check(modes[i] >= 0 && modes[i] <= 6, "a node has the mode ", modes[i]);
    TreeNode node{static_cast<Test>(static_cast<int>(modes[i])), feature[i], splits[i],
                  !missing.empty() && missing[i] != 0};
    for (const auto& [child, leaf, place] :
         {std::tuple(yes[i], yes_leaf[i], &TreeNode::yes), std::tuple(no[i], no_leaf[i], &TreeNode::no)}) {
      c.check(child >= 0 && child < static_cast<std::int64_t>(leaf ? weights.size() : n), "a node leads to number ",
              child);
      node.*place = leaf ? static_cast<std::int64_t>(n) + child : child;
    }
    if (node.test == Test::Member) {
      while (member < members.size() && members[member] == members[member]) node.members.push_back(members[member++]);
      ++member;
    }
    forest.nodes.push_back(std::move(node));
  }
  for (std::size_t i = 0; i < weights.size(); ++i) {
    TreeNode leaf;
    leaf.votes.emplace_back(targets[i], weights[i]);
    forest.nodes.push_back(std::move(leaf));
  }
  static constexpr const char* kTransforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  const std::int64_t how = c.i("post_transform", 0);
  c.check(how >= 0 && how < 5, "post_transform is ", how);
  return of_type(post_transform(c, evaluate(c, forest), kTransforms[how]), c[0].dtype());
}

constexpr OperatorRow kTreesRows[] = {
    {"TreeEnsemble", 5, tree_ensemble},
    {"TreeEnsembleClassifier", 1, tree_classifier},
    {"TreeEnsembleRegressor", 1, tree_regressor},
};

}  // namespace

std::span<const OperatorRow> trees_rows() { return kTreesRows; }

}  // namespace kiln::onnx
