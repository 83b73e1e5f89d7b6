"""Writes bleu_figures.json: what sacrebleu and NLTK say of texts with each smoothing of BLEU.

Needs sacrebleu and nltk; texts are cut at white space, as Kiln's metric does."""
import json
import pathlib

import nltk
import sacrebleu
from nltk.translate.bleu_score import SmoothingFunction, corpus_bleu
from sacrebleu.metrics import BLEU

CORPORA = {
    "good": [("the cat sat on the mat today", ["the cat is on the mat", "there is a cat that sat on the mat today"]),
             ("a quick brown fox jumped", ["the quick brown fox jumps over the lazy dog"])],
    "no 4-grams": [("the cat sat down", ["the cat is here now", "a cat sat up again"])],
    "no 3-grams": [("the dog ran away fast", ["the dog sat down there"])],
    "words alone": [("fox the over dog", ["the quick fox jumps over a dog"])],
    "short": [("the cat", ["the cat sat"])],
    "nothing": [("abc def ghi jkl", ["one two three four"])],
}
SMOOTHINGS = [("None", None), ("AddK", None), ("AddK", 0.5), ("Floor", None), ("Floor", 0.01), ("Exponential", None)]
SACREBLEU = {"None": "none", "AddK": "add-k", "Floor": "floor", "Exponential": "exp"}
NLTK = {("AddK", None): "method2", ("Floor", None): "method1", ("Exponential", None): "method3"}

cases = []
for name, corpus in CORPORA.items():
    said = [text for text, _ in corpus]
    most = max(len(right) for _, right in corpus)
    references = [[right[i] if i < len(right) else None for _, right in corpus] for i in range(most)]
    for smoothing, amount in SMOOTHINGS:
        bleu = BLEU(tokenize="none", smooth_method=SACREBLEU[smoothing], smooth_value=amount)
        figure = {"corpus": name, "said": said, "right": [right for _, right in corpus], "smoothing": smoothing,
                  "amount": amount, "sacrebleu": bleu.corpus_score(said, references).score / 100}
        if (smoothing, amount) in NLTK and name not in ("short", "nothing"):
            figure["nltk"] = corpus_bleu([[r.split() for r in right] for _, right in corpus], [t.split() for t in said],
                                         smoothing_function=getattr(SmoothingFunction(), NLTK[smoothing, amount]))
        cases.append(figure)

made_with = f"sacrebleu {sacrebleu.__version__}, nltk {nltk.__version__}"
lines = ",\n".join(json.dumps(case) for case in cases)
pathlib.Path(__file__).with_suffix(".json").write_text(f'{{"made_with": "{made_with}",\n"cases": [\n{lines}\n]}}\n')
