"""Models and data that are made here, so small that they say nothing, and loaded as the real ones are."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

SENTENCES = """
the cat sat on a mat . a dog ran away from it . the mayor opened the bridge in may . rain came ? it closed .
question : Is this a paragraph summary claim document reference response dialogue history fact ? Yes No
"""


def save_tokenizer(folder: Path, *, marks: dict[str, str], around: Sequence[str], most: int) -> Any:
    """Saves a tokenizer of whole words; `around` are the marks before and after a text."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    vocabulary = {word: i for i, word in enumerate(dict.fromkeys([*marks.values(), *SENTENCES.split()]))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=marks["unk_token"]))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    before, after = around
    template = f"{before} $A {after}".strip()
    named = [(mark, vocabulary[mark]) for mark in around if mark]
    tokenizer.post_processor = processors.TemplateProcessing(single=template, special_tokens=named)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=most, **marks)
    fast.save_pretrained(folder)
    return fast


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT with three layers, random but fixed."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("bert")
    marks = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    tokenizer = save_tokenizer(folder, marks=marks, around=("[CLS]", "[SEP]"), most=24)
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=3,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=24,
    )
    save(transformers.BertModel(config, add_pooling_layer=False), folder)
    return folder


@pytest.fixture(scope="session")
def tiny_bart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BART with one layer on each side, random but fixed."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("bart")
    marks = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    tokenizer = save_tokenizer(folder, marks=marks, around=("<s>", "</s>"), most=24)
    torch.manual_seed(0)
    config = transformers.BartConfig(
        vocab_size=len(tokenizer),
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        max_position_embeddings=24,
    )
    save(transformers.BartForConditionalGeneration(config), folder)
    return folder


@pytest.fixture(scope="session")
def tiny_t5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A T5 with one layer on each side, random but fixed."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("t5")
    marks = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    tokenizer = save_tokenizer(folder, marks=marks, around=("", "</s>"), most=8)
    torch.manual_seed(0)
    config = transformers.T5Config(
        vocab_size=len(tokenizer),
        d_model=16,
        d_kv=8,
        d_ff=32,
        num_layers=1,
        num_decoder_layers=1,
        num_heads=2,
        pad_token_id=0,
        eos_token_id=1,
        decoder_start_token_id=0,
        initializer_factor=3.0,
    )
    save(transformers.T5ForConditionalGeneration(config), folder)
    return folder


def save(network: Any, folder: Path) -> None:
    """Saves the weights without a progress bar."""
    from transformers.utils import logging

    logging.disable_progress_bar()
    network.save_pretrained(folder)
    logging.enable_progress_bar()


@pytest.fixture
def tiny_wordnet(tmp_path: Path) -> Path:
    """Folder of NLTK data with a WordNet of one meaning: car and auto."""
    folder = tmp_path / "corpora" / "wordnet"
    folder.mkdir(parents=True)
    for kind in ("adj", "adv", "noun", "verb"):
        for name in (f"data.{kind}", f"index.{kind}", f"{kind}.exc"):
            (folder / name).write_text("")
    (folder / "data.adj").write_text("  1 WordNet 3.0 Copyright of nobody, for this test\n")
    # Its offset in the file, then number of the lexicographer's file, words, and no relation to others.
    (folder / "data.noun").write_text("00000000 06 n 02 car 0 auto 0 000 | it drives on roads  \n")
    (folder / "index.noun").write_text("auto n 1 0 1 0 00000000  \ncar n 1 0 1 0 00000000  \n")
    (folder / "index.sense").write_text("")
    (folder / "lexnames").write_text("".join(f"{i:02}\tpart.{i}\t1\n" for i in range(7)))
    return tmp_path
