#!/usr/bin/env python3
"""Writes metric_figures.json: what scikit-learn, scikit-image and torchmetrics say of data that metric_data.hpp makes as well.
usage: metric_figures.py"""
import json
import pathlib

import nltk
import numpy
import scipy
import skimage.metrics
import sklearn
import torch
import torchmetrics
from nltk.stem.porter import PorterStemmer
from nltk.translate.meteor_score import meteor_score
from sklearn import metrics as sk
from torchmetrics import text as texts
from torchmetrics.classification import MulticlassCalibrationError
from torchmetrics.detection import MeanAveragePrecision
from torchmetrics.functional.image.dists import DISTSNetwork
from torchmetrics.functional.image.lpips import _LPIPS, NetLinLayer
from torchmetrics.functional.image.ssim import _ssim_update

ITEMS, CLASSES = 203, 5


def noise(stream, count):
    """Numbers in [0, 1) of 12 bits: as floats exact, and some of them equal."""
    mixed = (numpy.arange(count, dtype=numpy.uint64) + 1000 * stream + 1) * 2654435761 % 2**32
    mixed = (mixed ^ mixed >> 15) * 2246822519 % 2**32
    return (mixed >> 20).astype(numpy.float64) / 4096


scores = noise(1, ITEMS * CLASSES).reshape(ITEMS, CLASSES)
classes = (noise(2, ITEMS) * CLASSES).astype(int)
scores[numpy.arange(ITEMS), classes] += 0.25
coarse = numpy.floor(noise(3, ITEMS) * 16) / 16
yes = (noise(4, ITEMS) < 0.25 + coarse / 2).astype(int)
labels = (noise(5, ITEMS * CLASSES).reshape(ITEMS, CLASSES) < 0.3).astype(int)
said = scores.argmax(1)
chosen = (scores > 0.5).astype(int)
two = numpy.zeros_like(labels)  # the two largest, the first of equal ones
numpy.put_along_axis(two, numpy.argsort(-scores, axis=1, kind="stable")[:, :2], 1, axis=1)
one_hot = numpy.eye(CLASSES, dtype=int)[classes]
chances = scores / scores.sum(1, keepdims=True)
truth = 1e4 + 3 * noise(6, 2 * ITEMS).reshape(ITEMS, 2)
guess = truth + noise(7, 2 * ITEMS).reshape(ITEMS, 2) - 0.25
left = noise(8, 2 * 3 * 24 * 20).reshape(2, 3, 24, 20)
right = numpy.clip(left + noise(9, left.size).reshape(left.shape) / 4, 0, 1)
large = noise(10, 2 * 176 * 180).reshape(2, 1, 176, 180)
other = numpy.clip(large + noise(11, large.size).reshape(large.shape) / 4, 0, 1)

FIGURES = {
    "Accuracy": sk.accuracy_score(classes, said),
    "ExactMatch": sk.accuracy_score(labels, chosen),
    "TopKAccuracy": sk.top_k_accuracy_score(classes, scores, k=2),
    "HammingScore": 1 - sk.hamming_loss(labels, chosen),
    "BinaryPrecision": sk.precision_score(yes, coarse > 0.5),
    "BinaryRecall": sk.recall_score(yes, coarse > 0.5),
    "BinarySpecificity": sk.recall_score(1 - yes, coarse <= 0.5),
    "BinaryFBeta": sk.fbeta_score(yes, coarse > 0.5, beta=2),
    "CohenKappa": sk.cohen_kappa_score(classes, said),
    "MatthewsCorrelation": sk.matthews_corrcoef(classes, said),
    "BinaryAuroc": sk.roc_auc_score(yes, coarse),
    "MacroAuroc": sk.roc_auc_score(classes, chances, multi_class="ovr", average="macro"),
    "WeightedAuroc": sk.roc_auc_score(labels, scores, average="weighted"),
    "MicroAuroc": sk.roc_auc_score(labels, scores, average="micro"),
    "BinaryAveragePrecision": sk.average_precision_score(yes, coarse),
    "MacroAveragePrecision": sk.average_precision_score(numpy.eye(CLASSES)[classes], scores, average="macro"),
    "WeightedAveragePrecision": sk.average_precision_score(labels, scores, average="weighted"),
    "MicroAveragePrecision": sk.average_precision_score(labels, scores, average="micro"),
    "MeanAbsoluteError": sk.mean_absolute_error(truth, guess),
    "MeanSquaredError": sk.mean_squared_error(truth, guess),
    "RootMeanSquaredError": sk.root_mean_squared_error(truth.ravel(), guess.ravel()),
    "MeanAbsolutePercentageError": sk.mean_absolute_percentage_error(truth, guess),
    "R2": sk.r2_score(truth, guess),
}
for average in ("macro", "micro", "weighted"):
    name = average.capitalize()
    FIGURES[name + "Precision"] = sk.precision_score(classes, said, average=average)
    FIGURES[name + "Recall"] = sk.recall_score(classes, said, average=average)
    FIGURES[name + "FBeta"] = sk.fbeta_score(classes, said, beta=2, average=average)
    FIGURES[name + "Iou"] = sk.jaccard_score(classes, said, average=average)
    FIGURES[name + "Dice"] = sk.f1_score(labels, chosen, average=average)
    FIGURES[name + "PrecisionOfTwo"] = sk.precision_score(one_hot, two, average=average)
    FIGURES[name + "RecallOfTwo"] = sk.recall_score(labels, two, average=average)

calibration = MulticlassCalibrationError(CLASSES, n_bins=15).to(torch.float64)
FIGURES["CalibrationError"] = calibration(torch.tensor(chances.astype("float32")).double(), torch.tensor(classes))
FIGURES["Psnr"] = skimage.metrics.peak_signal_noise_ratio(left, right, data_range=1)
WINDOWS = dict(data_range=1, gaussian_weights=True, sigma=1.5, use_sample_covariance=False)
FIGURES["Ssim"] = numpy.mean(
    [skimage.metrics.structural_similarity(*pair, channel_axis=0, **WINDOWS) for pair in zip(left, right)])


def ms_ssim(a, b):
    """Of torchmetrics' parts, as its own takes windows beyond the edges at the last scale."""
    parts = []
    for scale in range(5):
        _, contrast = _ssim_update(a, b, data_range=1.0, return_contrast_sensitivity=True)
        _, whole = _ssim_update(a, b, data_range=1.0, return_full_image=True)
        parts.append(contrast if scale < 4 else whole[..., 5:-5, 5:-5].mean((1, 2, 3)))
        a, b = torch.nn.functional.avg_pool2d(a, 2), torch.nn.functional.avg_pool2d(b, 2)
    weights = torch.tensor([0.0448, 0.2856, 0.3001, 0.2363, 0.1333], dtype=torch.float64)
    return (torch.stack(parts, 1).relu() ** weights).prod(1).mean()


FIGURES["MsSsim"] = ms_ssim(torch.tensor(other), torch.tensor(large))

SAID = ["the cat sat on the mat today", "a quick brown fox jumped over lazy dogs", "nothing in common here at all"]
RIGHT = [["the cat is on the mat", "there is a cat that sat on the mat today"],
         ["the quick brown fox jumps over the lazy dog", "a quick brown fox jumped over the lazy dogs"],
         ["what was said was something else", "here at all events is less"]]
first = [references[0] for references in RIGHT]
FIGURES["CharErrorRate"] = texts.CharErrorRate()(SAID, first)
FIGURES["WordErrorRate"] = texts.WordErrorRate()(SAID, first)
FIGURES["Bleu"] = texts.BLEUScore()(SAID, RIGHT)
for name, key in (("Rouge1", "rouge1"), ("Rouge2", "rouge2"), ("RougeL", "rougeL")):
    FIGURES[name] = texts.ROUGEScore(rouge_keys=key)(SAID, first)[key + "_fmeasure"]

for name, words in (("ChrF", 0), ("ChrFWords", 2)):
    FIGURES[name] = texts.CHRFScore(n_word_order=words)(SAID, RIGHT)


class NoSynonyms:
    def synsets(self, word):
        return []


PORTER = PorterStemmer(PorterStemmer.ORIGINAL_ALGORITHM)
FIGURES["Meteor"] = numpy.mean([
    meteor_score([reference.split() for reference in references], said.split(), stemmer=PORTER, wordnet=NoSynonyms())
    for said, references in zip(SAID, RIGHT)])
STEMS = """caresses ponies ties caress cats feed agreed plastered bled motoring sing conflated troubled sized hopping tanned
falling hissing fizzed failing filing happy sky relational conditional rational valenci hesitanci digitizer conformabli
radicalli differentli vileli analogousli vietnamization predication operator feudalism decisiveness hopefulness callousness
formaliti sensitiviti sensibiliti triplicate formative formalize electriciti electrical hopeful goodness revival allowance
inference airliner gyroscopic adjustable defensible irritant replacement adjustment dependent adoption homologou communism
activate angulariti homologous effective bowdlerize probate rate cease controll roll oscillators generalizations y by
jumps said nation skies dying yellow toy""".split()

found, gains = noise(60, 7 * 9).reshape(7, 9), numpy.floor(noise(61, 7 * 9).reshape(7, 9) * 4)
found = numpy.floor(found * 16) / 16  # with ties
gains[3] = 0
FIGURES["Ndcg"] = sk.ndcg_score(gains, found)
FIGURES["Ndcg4"] = sk.ndcg_score(gains, found, k=4)
order = numpy.argsort(-found, axis=1, kind="stable")
wanted = numpy.take_along_axis(gains > 2, order, 1)
FIGURES["ReciprocalRank"] = numpy.mean(wanted.any(1) / (wanted.argmax(1) + 1))

real, made = noise(62, 90 * 6).reshape(90, 6), noise(63, 90 * 6).reshape(90, 6)
made[:, 1] += real[:, 0] / 2 + 0.25
real[:, 3] = real[:, 2] / 4 + real[:, 3] / 64 + 10
both = scipy.linalg.sqrtm(numpy.cov(made.T) @ numpy.cov(real.T))
FIGURES["FrechetDistance"] = (numpy.sum((made.mean(0) - real.mean(0)) ** 2) + numpy.trace(numpy.cov(made.T)) +
                              numpy.trace(numpy.cov(real.T)) - 2 * numpy.trace(both).real)

# Of maps that stand for a network's: three images, layers of 3, 4 and 2 channels.
SHAPES = [(3, 3, 6, 5), (3, 4, 4, 4), (3, 2, 3, 3)]


def maps(stream):
    return [torch.tensor(noise(stream + i, numpy.prod(s)).reshape(s)) for i, s in enumerate(SHAPES)]


def weights(stream):
    return [torch.tensor(noise(stream + i, s[1])) for i, s in enumerate(SHAPES)]


class Given(torch.nn.Module):
    """Answers with these maps in turn."""

    def __init__(self, *answers):
        super().__init__()
        self.answers = list(answers)

    def forward(self, image):
        return self.answers.pop(0)


left_maps, right_maps = maps(70), maps(75)
with torch.no_grad():
    lpips = _LPIPS(pretrained=False, net="alex", pnet_rand=True, use_dropout=False).double()
    lpips.net, lpips.L = Given(left_maps, right_maps), len(SHAPES)
    lpips.lins = torch.nn.ModuleList(NetLinLayer(s[1]).double() for s in SHAPES)
    for layer, weight in zip(lpips.lins, weights(80)):
        layer.model[0].weight[:] = weight.reshape(1, -1, 1, 1)
    image = torch.zeros(3, 3, 6, 5, dtype=torch.float64)
    FIGURES["Lpips"] = lpips(image, image).mean()

    dists = DISTSNetwork.__new__(DISTSNetwork)
    torch.nn.Module.__init__(dists)
    dists.chns = [s[1] for s in SHAPES]
    dists.alpha = torch.nn.Parameter(torch.cat(weights(85)).reshape(1, -1, 1, 1))
    dists.beta = torch.nn.Parameter(torch.cat(weights(90)).reshape(1, -1, 1, 1))
    answers = [left_maps, right_maps]
    dists.forward_once = lambda image: answers.pop(0)
    FIGURES["Dists"] = dists(image, image).mean()

average = MeanAveragePrecision()
for image in range(4):
    corners = numpy.floor(noise(20 + image, 24).reshape(6, 4) * 40)
    boxes = numpy.concatenate([corners[:, :2], corners[:, :2] + corners[:, 2:] + 8], 1)
    shifted = numpy.concatenate([boxes, boxes[:2] + 30]) + numpy.floor(noise(30 + image, 32).reshape(8, 4) * 6)
    kinds = (noise(40 + image, 6) * 3).astype(int)
    average.update(
        [{"boxes": torch.tensor(shifted).float(), "scores": torch.tensor(noise(50 + image, 8)).float(),
          "labels": torch.tensor(numpy.concatenate([kinds, kinds[:2]]))}],
        [{"boxes": torch.tensor(boxes).float(), "labels": torch.tensor(kinds)}])
found = average.compute()
FIGURES["MeanAveragePrecision"], FIGURES["MeanAveragePrecision50"] = found["map"], found["map_50"]

VERSIONS = (f"scikit-learn {sklearn.__version__}, scikit-image {skimage.__version__}, torchmetrics "
            f"{torchmetrics.__version__}, nltk {nltk.__version__} and pycocotools")


def lines(entries, brackets):
    return brackets[0] + "\n" + ",\n".join(entries) + brackets[1]


values = [f"{json.dumps(name)}: {float(value):.17g}" for name, value in FIGURES.items()]
confusion = [json.dumps(row) for row in sk.confusion_matrix(classes, said).tolist()]
stems = [f"{json.dumps(word)}: {json.dumps(PORTER.stem(word))}" for word in STEMS]
pathlib.Path(__file__).with_suffix(".json").write_text(
    f'{{"made_with": {json.dumps(VERSIONS)},\n"values": {lines(values, "{}")},\n"confusion": {lines(confusion, "[]")},\n'
    f'"stems": {lines(stems, "{}")}}}\n')
