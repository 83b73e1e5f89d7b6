"""Writes ml_figures.json: what ONNX Runtime gives for the operators of ai.onnx.ml. Needs onnx and onnxruntime."""
import numpy as np

import figures
from figures import floats, integers, words


def case(op, inputs, version=3, **options):
    figures.case(op, inputs, domain="ai.onnx.ml", version=version, **options)


def nodes(mode="BRANCH_LEQ", missing=None):
    """Two trees of two features: of five nodes and of three."""
    more = {} if missing is None else {"nodes_missing_value_tracks_true": missing}
    return {"nodes_treeids": [0] * 5 + [1] * 3, "nodes_nodeids": [0, 1, 2, 3, 4, 0, 1, 2],
            "nodes_featureids": [0, 0, 1, 0, 0, 1, 0, 0],
            "nodes_modes": [mode, "LEAF", mode, "LEAF", "LEAF", mode, "LEAF", "LEAF"],
            "nodes_values": [0.25, 0.0, 0.5, 0.0, 0.0, -0.125, 0.0, 0.0],
            "nodes_truenodeids": [1, 0, 3, 0, 0, 1, 0, 0], "nodes_falsenodeids": [2, 0, 4, 0, 0, 2, 0, 0], **more}


def votes(name, targets, weights):
    """One for each leaf."""
    return {f"{name}_treeids": [0, 0, 0, 1, 1], f"{name}_nodeids": [1, 3, 4, 1, 2], f"{name}_ids": targets,
            f"{name}_weights": weights}


TRANSFORMS = ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"]
x = np.array([[0.25, 0.5], [-1, -0.125], [0.5, 0.75], [1, -0.5], [0, 1]], np.float32)
gaps = np.array([[np.nan, 1], [1, np.nan], [np.nan, np.nan], [0.5, 0.5]], np.float32)
numbers, names = {"classlabels_int64s": [7, -2, 30]}, {"classlabels_strings": ["cat", "dog", "fox"]}
two = {"classlabels_int64s": [5, 9]}

for mode in ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]:
    case("TreeEnsembleRegressor", [x], n_targets=1, **nodes(mode), **votes("target", [0] * 5, [0.5, -1.0, 2.0, 4.0, 8.0]))
for missing in [[0] * 8, [1, 0, 0, 0, 0, 1, 0, 0]]:
    case("TreeEnsembleRegressor", [gaps], n_targets=1, **nodes(missing=missing), **votes("target", [0] * 5, [0.5, -1.0, 2.0, 4.0, 8.0]))
both = {"target_treeids": [0] * 6 + [1] * 4, "target_nodeids": [1, 1, 3, 3, 4, 4, 1, 1, 2, 2], "target_ids": [0, 1] * 5,
        "target_weights": [0.5, -1.0, 2.0, 4.0, 8.0, -0.25, 1.5, 0.125, -2.0, 3.0]}
for aggregate in ["SUM", "AVERAGE", "MIN", "MAX"]:
    case("TreeEnsembleRegressor", [x], n_targets=2, aggregate_function=aggregate, base_values=[0.5, -0.25], **nodes(), **both)
for transform in TRANSFORMS:
    case("TreeEnsembleRegressor", [x], n_targets=3, post_transform=transform, **nodes(),
         **votes("target", [0, 1, 2, 1, 2], [0.125, 0.25, 0.5, 0.25, 0.375]))
    case("TreeEnsembleClassifier", [x], outputs=2, post_transform=transform, **nodes(), **names,
         **votes("class", [0, 1, 2, 1, 2], [0.125, 0.25, 0.5, 0.25, 0.375]))
# One score for two classes: a share of the second, or, with negative votes, its distance from the first. ONNX Runtime does
# not apply other transformations there.
for transform, weights in [("NONE", [0.125, 0.25, 0.375, 0.125, 0.375]), ("NONE", [0.5, -1.0, 2.0, 1.0, -3.0]),
                           ("LOGISTIC", [0.5, -1.0, 2.0, 1.0, -3.0])]:
    case("TreeEnsembleClassifier", [x], outputs=2, post_transform=transform, **nodes(), **two, **votes("class", [0] * 5, weights))
case("TreeEnsembleClassifier", [x], outputs=2, base_values=[0.5, -0.25, 0.0], **nodes(), **numbers,
     **votes("class", [0, 1, 2, 1, 2], [0.5, -1.0, 2.0, 4.0, 8.0]))
case("TreeEnsembleClassifier", [x.astype(np.float64)], outputs=2, **nodes(), **two, base_values=[0.25],
     **votes("class", [0] * 5, [0.125, 0.25, 0.375, 0.125, 0.375]))
member = {"nodes_modes": np.array([6, 0], np.uint8), "nodes_splits": np.array([0, 0.5], np.float32),
          "membership_values": np.array([1, -1, np.nan], np.float32), "leaf_weights": np.array([1, 10, 100], np.float32)}
for aggregate in range(4):
    case("TreeEnsemble", [x], version=5, aggregate_function=aggregate, n_targets=2, tree_roots=[0], leaf_targetids=[0, 1, 0],
         nodes_featureids=[0, 1], nodes_truenodeids=[0, 1], nodes_falsenodeids=[1, 2], nodes_trueleafs=[1, 1],
         nodes_falseleafs=[0, 1], **member)

rows, plane = floats(4, 3), [0.5, -0.25, 1.0, -1.0, 0.75, 0.125, 0.25, 0.5, -0.5]
for transform in TRANSFORMS:
    small = 0.05 if transform == "PROBIT" else 1.0
    case("LinearRegressor", [rows], post_transform=transform, targets=3, coefficients=[small * v for v in plane],
         intercepts=[0.5, 0.375, 0.625])
    case("LinearClassifier", [rows], outputs=2, post_transform=transform, coefficients=[small * v for v in plane],
         intercepts=[0.5, 0.375, 0.625], **names)
for transform in ["NONE", "LOGISTIC"]:
    case("LinearClassifier", [rows], outputs=2, post_transform=transform, coefficients=plane[:3], intercepts=[0.5],
         classlabels_ints=[5, 9])
case("LinearRegressor", [rows], coefficients=plane[:3])
case("LinearClassifier", [rows], outputs=2, coefficients=plane[:6], intercepts=[0.5, -0.5], classlabels_ints=[5, 9])
# More coefficients than three classes of two features have: the first count.
case("LinearClassifier", [floats(3, 2)], outputs=2, classlabels_ints=[0, 1, 2], intercepts=[0.25, 0.58, -0.94],
     coefficients=[0.4, 1.4, -2.1, -1.0, 0.6, -1.7, 0.5, -1.4, -1.7, -1.2, 2.2, 2.4], multi_class=0, post_transform="LOGISTIC")
case("LinearClassifier", [integers("int64", -3, 4, 2, 3)], outputs=2, coefficients=plane, intercepts=[0.5, 0.375, 0.625], **names)

vectors = [float(v) for v in floats(5, 3, seed=3).ravel()]
for kernel, parameters in [("LINEAR", [0.0, 0.0, 0.0]), ("POLY", [0.5, 1.0, 3.0]), ("RBF", [0.25, 0.0, 0.0]),
                           ("SIGMOID", [0.25, -0.125, 0.0])]:
    model = {"kernel_type": kernel, "kernel_params": parameters, "support_vectors": vectors}
    case("SVMRegressor", [rows], n_supports=5, coefficients=[0.5, -1.0, 0.25, 1.0, -0.75], rho=[0.375], **model)
    case("SVMRegressor", [rows], n_supports=5, coefficients=[0.5, -1.0, 0.25, 1.0, -0.75], rho=[0.375], one_class=1, **model)
    weights = [0.5, -1.0, 0.25, 1.0, -0.75, 0.125, 0.875, -0.5, 0.25, -0.25]
    many = {"coefficients": weights, "vectors_per_class": [2, 1, 2], "rho": [0.25, -0.125, 0.5], **model}
    case("SVMClassifier", [rows], outputs=2, classlabels_ints=[3, 5, 8], **many)
    case("SVMClassifier", [rows], outputs=2, prob_a=[-1.0, -0.5, -2.0], prob_b=[0.25, 0.125, -0.25], **names, **many)
    pair = {"coefficients": weights[:5], "vectors_per_class": [2, 3], "rho": [0.25], **model}
    case("SVMClassifier", [rows], outputs=2, classlabels_ints=[3, 5], **pair)
    case("SVMClassifier", [rows], outputs=2, prob_a=[-1.0], prob_b=[0.25], classlabels_strings=["no", "yes"], **pair)
for transform in TRANSFORMS[1:4]:
    case("SVMClassifier", [rows], outputs=2, classlabels_ints=[3, 5, 8], post_transform=transform, **many)
case("SVMClassifier", [rows], outputs=2, classlabels_ints=[3, 5], post_transform="LOGISTIC", **pair)
case("SVMRegressor", [rows], n_supports=0, coefficients=plane[:3], rho=[0.375], kernel_type="LINEAR",
     kernel_params=[0.0, 0.0, 0.0])
case("SVMClassifier", [rows], outputs=2, coefficients=plane, rho=[0.25], kernel_type="LINEAR",
     kernel_params=[0.0, 0.0, 0.0], classlabels_ints=[3, 5, 8])

zeros = np.array([[0, 0, 0], [3, -4, 0], [-1, -2, -3]], np.float32)
for norm in ["MAX", "L1", "L2"]:
    case("Normalizer", [zeros], norm=norm)
case("Normalizer", [integers("int64", 1, 9, 2, 3)], norm="L2")
case("Normalizer", [floats(4)], norm="L1")
case("Scaler", [rows], offset=[0.5, -1.0, 0.25], scale=[2.0, 0.5, -1.0])
case("Scaler", [integers("int64", -3, 4, 2, 3)], offset=[0.5], scale=[2.0])
case("Imputer", [gaps], imputed_value_floats=[7.0, 8.0], replaced_value_float=float("nan"))
case("Imputer", [zeros], imputed_value_floats=[9.0], replaced_value_float=0.0)
case("Imputer", [integers("int64", -2, 3, 2, 4)], imputed_value_int64s=[10, 20, 30, 40], replaced_value_int64=1)
case("OneHotEncoder", [integers("int64", 1, 6, 2, 3)], cats_int64s=[1, 3, 4])
case("OneHotEncoder", [np.array([1, 3, 2.5], np.float32)], cats_int64s=[1, 2, 3])
case("OneHotEncoder", [words("cat", "cow", "fox")], cats_strings=["fox", "cat"], zeros=1)
case("ArrayFeatureExtractor", [rows, np.array([2, 0, 2], np.int64)])
case("ArrayFeatureExtractor", [floats(2, 2, 3), np.array([1], np.int64)])
case("ArrayFeatureExtractor", [words("a", "b", "c"), np.array([2, 1], np.int64)])
case("FeatureVectorizer", [rows, floats(4, 2, seed=2)], inputdimensions=[3, 2])
case("FeatureVectorizer", [rows, floats(4, 3, seed=2), floats(4, 1, seed=3)], inputdimensions=[2, 4, 1])
case("CategoryMapper", [words("cat", "cow", "fox")], cats_int64s=[10, 20], cats_strings=["fox", "cat"], default_int64=-5)
case("CategoryMapper", [np.array([[20], [10], [4]], np.int64)], cats_int64s=[10, 20], cats_strings=["fox", "cat"],
     default_string="none")
case("LabelEncoder", [words("cat", "cow", "fox")], keys_strings=["fox", "cat"], values_int64s=[10, 20], default_int64=-5,
     version=2)
case("LabelEncoder", [np.array([1.5, np.nan, 2], np.float32)], keys_floats=[float("nan"), 1.5], values_strings=["none", "half"],
     version=4)
case("Binarizer", [rows], threshold=0.25, version=1)
figures.write("ml_figures.json")
