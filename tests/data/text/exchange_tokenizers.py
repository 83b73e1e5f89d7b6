"""Compares Kiln with Hugging Face's tokenizers: exchange_tokenizers.py PROGRAM, which is tokenizer_outputs.

Normalizers and pre-tokenizers on each code point and on 3,000 lines in a hundred scripts, where KILN_TEST_LONG=1; else on a
sixth of the lines and a sixteenth of ideographs and syllables. Whole tokenizers with added tokens, truncation and padding
on the lines. Only with tokenizers 0.23, since other versions have other databases of Unicode."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

import tokenizers

import scripts_texts

if not tokenizers.__version__.startswith("0.23."):
    print(f"skipped: has tokenizers {tokenizers.__version__}, and Kiln's tables are those of 0.23")
    sys.exit(77)
PROGRAM = sys.argv[1]


def kiln(kind, described, texts, place):
    (place / "described.json").write_text(json.dumps(described))
    (place / "texts.json").write_text(json.dumps(texts))
    subprocess.run([PROGRAM, kind, place / "described.json", place / "texts.json", place / "out.json"], check=True)
    return json.loads((place / "out.json").read_text())


def compare(what, texts, expected, found):
    wrong = [i for i in range(len(texts)) if expected[i] != found[i]]
    for i in wrong[:5]:
        print(f"{what}: {texts[i]!r}: expected {expected[i]!r}, found {found[i]!r}")
    print(f"{'WRONG' if wrong else 'ok'} {what}: {len(wrong)} of {len(texts)} texts differ")
    return bool(wrong)


def described(stage):
    return json.loads(stage.__getstate__())


def trained(lines):
    """Tokenizers of all models, with added tokens of all kinds."""
    added = [AddedToken("<|end|>", special=True, normalized=False), AddedToken("word", normalized=True),
             AddedToken("\u00e9t\u00e9", normalized=False), AddedToken("Wide", lstrip=True, rstrip=True, normalized=True),
             AddedToken("a1", single_word=True), AddedToken("Camel", single_word=True, normalized=False)]
    byte_level = Tokenizer(models.BPE())
    byte_level.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    byte_level.train_from_iterator(lines, trainers.BpeTrainer(
        vocab_size=900, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    byte_level.add_tokens(added)
    byte_level.normalizer = normalizers.NFC()
    yield "byte-level BPE", byte_level
    byte_level = Tokenizer.from_str(byte_level.to_str())
    byte_level.pre_tokenizer = pre_tokenizers.Sequence([scripts_texts.PRE_TOKENIZERS["o200k"],
                                                        pre_tokenizers.ByteLevel(False, False, False)])
    byte_level.post_processor = processors.TemplateProcessing("<|end|> $A", "<|end|> $A $B", [("<|end|>", byte_level.token_to_id("<|end|>"))])
    byte_level.enable_truncation(12)
    byte_level.enable_padding(length=20, pad_id=3)
    yield "o200k, cut and padded", byte_level
    byte_level = Tokenizer.from_str(byte_level.to_str())
    byte_level.enable_truncation(9, direction="left", strategy="only_first", stride=2)
    byte_level.enable_padding(direction="left", pad_to_multiple_of=8, pad_id=5)
    yield "o200k, cut and padded on the left", byte_level

    word_pieces = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=12))
    word_pieces.normalizer = normalizers.BertNormalizer()
    word_pieces.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    word_pieces.train_from_iterator(lines, trainers.WordPieceTrainer(
        vocab_size=1500, special_tokens=["[UNK]", "[CLS]", "[SEP]"], show_progress=False))
    word_pieces.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    word_pieces.decoder = decoders.WordPiece()
    word_pieces.add_tokens(added)
    yield "WordPiece", word_pieces

    clip = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>", fuse_unk=False))
    clip.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])
    clip.pre_tokenizer = pre_tokenizers.Whitespace()
    clip.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=900, end_of_word_suffix="</w>", limit_alphabet=300,
                                                        special_tokens=["<unk>"], show_progress=False))
    clip.decoder = decoders.BPEDecoder("</w>")
    clip.add_tokens(added)
    yield "BPE with a suffix", clip
    prefixed = Tokenizer(models.BPE(unk_token="<unk>", continuing_subword_prefix="##", fuse_unk=True))
    prefixed.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    prefixed.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=900, continuing_subword_prefix="##", limit_alphabet=300,
                                                            special_tokens=["<unk>"], show_progress=False))
    prefixed.decoder = decoders.CTC(pad_token="<unk>", word_delimiter_token="a")
    yield "BPE with a prefix", prefixed

    unigram = Tokenizer(models.Unigram())
    unigram.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(" ", "\u2581")])
    unigram.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    unigram.train_from_iterator(lines, trainers.UnigramTrainer(vocab_size=12000, unk_token="<unk>", special_tokens=["<unk>"],
                                                               show_progress=False))
    unigram.decoder = decoders.Metaspace(prepend_scheme="first")
    unigram.add_tokens(added)
    yield "Unigram", unigram


def outputs(tokenizer, text):
    ids = tokenizer.encode(text).ids
    return {"ids": ids, "all": tokenizer.decode(ids, skip_special_tokens=False), "plain": tokenizer.decode(ids)}


def main():
    wrong = False
    whole = os.environ.get("KILN_TEST_LONG") == "1"
    lines, points = scripts_texts.lines(3000, 7)[::1 if whole else 6], scripts_texts.points(1 if whole else 16)
    with tempfile.TemporaryDirectory() as name:
        place = pathlib.Path(name)
        for title, stage in scripts_texts.NORMALIZERS.items():
            for which, texts in ("lines", lines), ("points", points):
                expected = [stage.normalize_str(text) for text in texts]
                wrong |= compare(f"{title}, {which}", texts, expected, kiln("normal", described(stage), texts, place))
        for title, stage in scripts_texts.PRE_TOKENIZERS.items():
            for which, texts in ("lines", lines), ("points", points):
                expected = [[piece for piece, _ in stage.pre_tokenize_str(text)] for text in texts]
                wrong |= compare(f"{title}, {which}", texts, expected, kiln("pieces", described(stage), texts, place))
        for title, tokenizer in trained(lines[:1000]):
            tokenizer = Tokenizer.from_str(tokenizer.to_str())
            expected = [outputs(tokenizer, text) for text in lines]
            wrong |= compare(title, lines, expected, kiln("ids", json.loads(tokenizer.to_str()), lines, place))
    sys.exit(wrong)


main()
