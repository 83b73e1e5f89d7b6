"""Writes unigram_figures.json, and its tokenizers to tokenizers/: unigram models with the stages of SentencePiece, normal forms,
and the tokens that they and the tokenizers of tokenizer_figures.py make of a piece of Shakespeare and of news. Run with tokenizers
0.23 and sentencepiece 0.2: python3 unigram_figures.py input.txt test.csv"""

import base64
import csv
import io
import json
import pathlib
import sys
import tempfile

import sentencepiece
import tokenizers
from sentencepiece import sentencepiece_model_pb2
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from tokenizer_figures import FOLDER, TEXTS, TRAINING, cases, encoded, members

SHAKESPEARE = pathlib.Path(sys.argv[1]).read_text()
NEWS = [" ".join(row[1:]) for row in csv.reader(open(sys.argv[2], newline=""))]
SAMPLES = [SHAKESPEARE[:1000], *NEWS[:4]]
MORE = [
    "ﬁne ² Ａ１ ｶﾞ ①",
    "e\u0301\u0327 q\u0323\u0307 Å ṩ \u1e9b\u0323 한글 \u1112\u1161\u11ab",
    "a ▁ b  \u00a0c\r\nd",
    "cafe\u0301 straße ½",
]


def trained(normalizer, byte_fallback=False, alphabet=()):
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<unk>", "<s>"] + [f"<0x{b:02X}>" for b in range(256)] * byte_fallback
    tokenizer.train_from_iterator(
        SAMPLES + TRAINING[:3],
        trainers.UnigramTrainer(
            vocab_size=180 + 256 * byte_fallback,
            unk_token="<unk>",
            special_tokens=special,
            initial_alphabet=list(alphabet),
            show_progress=False,
        ),
    )
    described = json.loads(tokenizer.to_str())
    described["added_tokens"] = [t for t in described["added_tokens"] if t["id"] < 2]
    described["model"]["byte_fallback"] = byte_fallback
    return Tokenizer.from_str(json.dumps(described))


found = {}
xlm = trained(
    normalizers.Sequence(
        [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " "), normalizers.Strip()]
    )
)
xlm.decoder = decoders.Metaspace()
found["Unigram"] = encoded("Unigram", xlm, TEXTS + MORE + SAMPLES)

fallback = trained(
    normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents(), normalizers.Strip(left=False)]), True
)
fallback.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
fallback.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace(prepend_scheme="first")])
found["UnigramBytes"] = encoded("UnigramBytes", fallback, TEXTS + MORE + SAMPLES[:1])

# By SentencePiece itself, with a table of replacements of a few lines in place of the thousands of its own.
RULES = {
    "ﬁ": "fi",
    "Ａ": "A",
    "é": "e",
    "e\u0301": "e",
    "²": "2",
    "\u00a0": " ",
    "\t": " ",
    "\u200b": "",
    "\u3000": " ",
    "e\u0327": "c",
    "½": "1/2",
    "r\u0301": "R",
    "\r": " ",
}
with tempfile.TemporaryDirectory() as folder:
    rules = pathlib.Path(folder, "rules.tsv")
    rules.write_text(
        "".join(
            " ".join(f"{ord(c):X}" for c in a) + "\t" + " ".join(f"{ord(c):X}" for c in b) + "\n"
            for a, b in RULES.items()
        )
    )
    lines = [line for sample in SAMPLES + TRAINING for line in sample.split("\n") if line]
    made = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=made,
        vocab_size=200,
        model_type="unigram",
        character_coverage=0.98,
        normalization_rule_tsv=str(rules),
        minloglevel=2,
    )
proto = sentencepiece_model_pb2.ModelProto.FromString(made.getvalue())
t5 = Tokenizer(models.Unigram([(p.piece, p.score) for p in proto.pieces], proto.trainer_spec.unk_id))
described = json.loads(t5.to_str())
described["normalizer"] = {
    "type": "Sequence",
    "normalizers": [
        {
            "type": "Precompiled",
            "precompiled_charsmap": base64.b64encode(proto.normalizer_spec.precompiled_charsmap).decode(),
        },
        {"type": "Strip", "strip_left": False, "strip_right": True},
        {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "▁"},
    ],
}
t5 = Tokenizer.from_str(json.dumps(described))
t5.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
t5.post_processor = processors.TemplateProcessing(
    single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 2)]
)
t5.decoder = decoders.Metaspace()
found["SentencePiece"] = encoded("SentencePiece", t5, TEXTS + MORE + SAMPLES)

forms = []
for one in (
    TEXTS
    + MORE
    + ["".join(map(chr, range(0xA0, 0x250))), "\u0344\u0f73\u0f81 \u212b\u2126 \ufb2c \u0958 豈 \U0001d15e"]
):
    forms.append(
        {
            "text": one,
            "c": normalizers.NFC().normalize_str(one),
            "d": normalizers.NFD().normalize_str(one),
            "kc": normalizers.NFKC().normalize_str(one),
            "kd": normalizers.NFKD().normalize_str(one),
        }
    )

ids = {}
for name in ["ByteLevel", "WordPieces", "Llama", "Gpt4", "Qwen", "Words"]:
    tokenizer = Tokenizer.from_file(str(FOLDER / "tokenizers" / f"{name}.json"))
    ids[name] = cases(tokenizer.encode(one).ids for one in SAMPLES)

figures = {
    "made_with": json.dumps(f"tokenizers {tokenizers.__version__} and sentencepiece {sentencepiece.__version__}"),
    "samples": cases(SAMPLES),
    "encoded": members(found),
    "normal_forms": cases(forms),
    "ids_of_samples": members(ids),
}
(FOLDER / "unigram_figures.json").write_text(members(figures) + "\n")
