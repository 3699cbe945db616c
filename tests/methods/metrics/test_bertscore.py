import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from bineval.errors import ConfigError, ModelRequestError  # noqa: E402
from bineval.methods.metrics.bertscore import BertScore  # noqa: E402


def test_it_is_the_f1_of_each_token_with_the_one_most_like_it(tiny_bert: Path) -> None:
    network = transformers.AutoModel.from_pretrained(tiny_bert).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_bert)

    def vectors(text: str) -> list[torch.Tensor]:
        with torch.no_grad():
            layers = network(**tokenizer(text, return_tensors="pt"), output_hidden_states=True).hidden_states
        return [vector / vector.norm() for vector in layers[2][0]]

    output, reference = vectors("the cat sat"), vectors("a dog ran away")

    # The marks at both ends can be matched with, but are not averaged over.
    def mean_best(these: list[torch.Tensor], those: list[torch.Tensor]) -> float:
        best = [max(float(this @ that) for that in those) for this in these[1:-1]]
        return sum(best) / len(best)

    precision, recall = mean_best(output, reference), mean_best(reference, output)
    expected = 2 * precision * recall / (precision + recall)
    score = BertScore(model=f"{tiny_bert}@2").compare("the cat sat", ["a dog ran away"])
    assert score == pytest.approx(expected, abs=1e-5)
    assert BertScore(model=f"{tiny_bert}@3").compare("the cat sat", ["a dog ran away"]) != pytest.approx(expected)


def test_the_same_text_has_1_and_the_best_reference_counts(tiny_bert: Path) -> None:
    bertscore = BertScore(model=f"{tiny_bert}@2")
    assert bertscore.compare("the cat sat", ["a dog", "the cat sat"]) == pytest.approx(1, abs=1e-5)
    assert bertscore.compare("the cat sat", ["a dog"]) < 1


def test_white_space_around_a_text_changes_nothing(tiny_bert: Path) -> None:
    assert BertScore(model=f"{tiny_bert}@2").compare(" the cat sat\n", ["the cat sat"]) == pytest.approx(1, abs=1e-5)


def test_an_empty_output_has_0(tiny_bert: Path) -> None:
    assert BertScore(model=f"{tiny_bert}@2").compare(" ", ["the cat sat"]) == 0


def test_a_long_text_is_refused_rather_than_cut(tiny_bert: Path) -> None:
    with pytest.raises(ModelRequestError, match="too long"):
        BertScore(model=f"{tiny_bert}@2").compare("the cat", ["dog " * 30])


def test_the_usual_model_and_its_layer_are_those_of_the_paper() -> None:
    from bineval.methods.metrics.bertscore import _split_layer

    assert _split_layer("FacebookAI/roberta-large") == ("FacebookAI/roberta-large", 17)
    assert _split_layer("/models/roberta-large") == ("/models/roberta-large", 17)
    assert _split_layer("mine/encoder@4") == ("mine/encoder", 4)


def test_a_model_whose_best_layer_nobody_knows_needs_one(tiny_bert: Path) -> None:
    with pytest.raises(ConfigError, match=r"name one, as in .*@9"):
        BertScore(model=str(tiny_bert))


def test_a_layer_that_the_model_does_not_have_is_a_plain_message(tiny_bert: Path) -> None:
    with pytest.raises(ConfigError, match="no encoder with a layer 4"):
        BertScore(model=f"{tiny_bert}@4").compare("cat", ["dog"])


def test_a_model_that_also_decodes_is_refused(tiny_bart: Path) -> None:
    with pytest.raises(ConfigError, match="no encoder"):
        BertScore(model=f"{tiny_bart}@1").compare("cat", ["dog"])


def test_the_settings_name_the_layer(tiny_bert: Path) -> None:
    settings = BertScore(model=f"{tiny_bert}@2").settings
    assert (settings["model"], settings["layer"]) == (str(tiny_bert), 2)


def test_roberta_reads_a_space_before_the_first_word(tmp_path: Path) -> None:
    vocabulary = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "c", "a", "t", "\u0120", "ca", "cat", "\u0120cat"]
    (tmp_path / "vocab.json").write_text(json.dumps({token: i for i, token in enumerate(vocabulary)}))
    (tmp_path / "merges.txt").write_text("#version: 0.2\nc a\nca t\n\u0120 cat\n", encoding="utf-8")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "RobertaTokenizer"}))
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "roberta"}))
    model = BertScore(model=f"{tmp_path}@1")._model
    assert model.tokenizer.convert_ids_to_tokens(model.token_ids("cat", most=None)) == ["<s>", "\u0120cat", "</s>"]
