"""Writes tokenizers/ and tokenizer_figures.json: tokenizers, and what Hugging Face's library makes of texts with them. Run with
tokenizers 0.23: python3 tokenizer_figures.py"""

import json
import pathlib

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

TRAINING = [
    "The quick brown fox jumps over the lazy dog. The dog sleeps; the fox doesn't.",
    "She sells sea shells by the sea shore, and the shells she sells are sea shells, I'm sure.",
    "How much wood would a woodchuck chuck if a woodchuck could chuck wood? 1234 12345 2024",
    "naïve café résumé — déjà vu, Ångström, über, straße; ÉCOLE",
    "    indented\n\n\tcode(x) = {y: 1}\r\n  more   spaces  ",
    "Привет, мир! 你好，世界。 こんにちは 안녕하세요 🙂🙃",
]
TEXTS = [
    "",
    " ",
    "Hello world",
    "The foxes' dens weren't found; I'VE looked, I'm sure they'll say.",
    "  leading and trailing  ",
    "tabs\tand\nnew\r\nlines \n\n x",
    "1 12 123 1234 12345678",
    "x=[1,2];// c++ -->",
    "naïve Café RÉSUMÉ e\u0301 Ångström",
    "Привет 你好世界 안녕 ไทย हिन्दी",
    "🙂🤖 \u200bzero\u00a0width\u3000wide",
    "sea shells<|end|>she sells <|end|>  the",
    "[MASK] in [UNK] text",
    "a\u2028b \x07bell",
    "woodchuckchuckwood" * 3,
    "x" * 120,
]


FOLDER = pathlib.Path(__file__).parent


def cases(rows):
    """One case a line."""
    return "[\n" + ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows) + "]"


def members(entries):
    """An object of texts that are JSON."""
    return "{" + ",\n".join(f"{json.dumps(name)}: {value}" for name, value in entries.items()) + "}"


def encoded(name, tokenizer, texts=TEXTS):
    """Writes the tokenizer to its file, and returns what it makes of the texts."""
    tokenizer = Tokenizer.from_str(tokenizer.to_str())
    described = json.dumps(json.loads(tokenizer.to_str()), ensure_ascii=False, separators=(",", ":"))
    (FOLDER / "tokenizers" / f"{name}.json").write_text(described)
    rows = [(one, tokenizer.encode(one).ids) for one in texts]
    return cases({"text": one, "ids": ids, "decoded": tokenizer.decode(ids)} for one, ids in rows)


def main():
    found = {}

    byte_level = Tokenizer(models.BPE())
    byte_level.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    byte_level.decoder = decoders.ByteLevel()
    byte_level.train_from_iterator(
        TRAINING,
        trainers.BpeTrainer(
            vocab_size=330,
            min_frequency=2,
            special_tokens=["<|end|>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    found["ByteLevel"] = encoded("ByteLevel", byte_level)

    word_pieces = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    word_pieces.normalizer = normalizers.BertNormalizer()
    word_pieces.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    word_pieces.train_from_iterator(
        TRAINING,
        trainers.WordPieceTrainer(
            vocab_size=220, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], show_progress=False
        ),
    )
    word_pieces.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    word_pieces.decoder = decoders.WordPiece()
    found["WordPieces"] = encoded("WordPieces", word_pieces)

    llama = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    llama.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    llama.train_from_iterator(
        TRAINING,
        trainers.BpeTrainer(
            vocab_size=400,
            min_frequency=2,
            limit_alphabet=60,
            show_progress=False,
            special_tokens=["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)],
        ),
    )
    described = json.loads(llama.to_str())
    described["added_tokens"] = [t for t in described["added_tokens"] if t["id"] < 3]
    llama = Tokenizer.from_str(json.dumps(described))
    llama.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)]
    )
    llama.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    found["Llama"] = encoded("Llama", llama)

    PATTERN = (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
        r"|\s+(?!\S)|\s+"
    )
    for name, pattern in [("Gpt4", PATTERN), ("Qwen", PATTERN.replace("{1,3}", ""))]:
        gpt4 = Tokenizer(models.BPE(ignore_merges=True))
        gpt4.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(Regex(pattern), "isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
        gpt4.decoder = decoders.ByteLevel()
        gpt4.train_from_iterator(
            TRAINING,
            trainers.BpeTrainer(
                vocab_size=310, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
            ),
        )
        gpt4.add_special_tokens([AddedToken("<|end|>", lstrip=True, rstrip=True)])
        found[name] = encoded(name, gpt4)

    words = Tokenizer(models.WordLevel(unk_token="<unk>"))
    words.normalizer = normalizers.Lowercase()
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.train_from_iterator(TRAINING, trainers.WordLevelTrainer(special_tokens=["<unk>"], show_progress=False))
    found["Words"] = encoded("Words", words)
    figures = {"made_with": json.dumps(f"tokenizers {tokenizers.__version__}"), "training": cases(TRAINING), "encoded": members(found)}
    (FOLDER / "tokenizer_figures.json").write_text(members(figures) + "\n")


if __name__ == "__main__":
    main()
