from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from bineval.errors import ModelRequestError  # noqa: E402
from bineval.methods.metrics.bartscore import BartScore  # noqa: E402


def by_hand(folder: Path, given: str, output: str) -> float:
    """Mean log-probability of the output's tokens, each after those before it, written out."""
    network = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    source, target = tokenizer(given)["input_ids"], tokenizer(output)["input_ids"]
    total, before = 0.0, [network.config.decoder_start_token_id]
    for token in target:
        with torch.no_grad():
            logits = network(torch.tensor([source]), decoder_input_ids=torch.tensor([before])).logits[0, -1]
        total += float(logits.log_softmax(0)[token])
        before.append(token)
    return total / len(target)


def test_it_is_the_mean_log_probability_of_the_output(tiny_bart: Path) -> None:
    expected = by_hand(tiny_bart, "the dog ran away", "the cat sat")
    score = BartScore(model=str(tiny_bart)).compare("the cat sat", ["the dog ran away"])
    assert score == pytest.approx(expected, abs=1e-5)
    assert score < 0


def test_the_direction_is_towards_the_output(tiny_bart: Path) -> None:
    bartscore = BartScore(model=str(tiny_bart))
    there, back = (
        bartscore.compare("the cat sat", ["a dog ran away"]),
        bartscore.compare("a dog ran away", ["the cat sat"]),
    )
    assert there == pytest.approx(by_hand(tiny_bart, "a dog ran away", "the cat sat"), abs=1e-5)
    assert there != pytest.approx(back)


def test_the_best_reference_counts(tiny_bart: Path) -> None:
    bartscore = BartScore(model=str(tiny_bart))
    each = [bartscore.compare("the cat sat", [text]) for text in ("a dog", "rain in may")]
    assert bartscore.compare("the cat sat", ["a dog", "rain in may"]) == max(each)


def test_what_the_model_has_learned_is_likelier_than_what_it_has_not(tiny_bart: Path, tmp_path: Path) -> None:
    network = transformers.AutoModelForSeq2SeqLM.from_pretrained(tiny_bart).train()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_bart)
    source = torch.tensor([tokenizer("the mayor opened the bridge .")["input_ids"]])
    labels = torch.tensor([tokenizer("bridge opened .")["input_ids"]])
    optimizer = torch.optim.AdamW(network.parameters(), lr=0.01)
    torch.manual_seed(0)
    for _ in range(30):
        optimizer.zero_grad()
        network(source, labels=labels).loss.backward()
        optimizer.step()
    network.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    bartscore = BartScore(model=str(tmp_path))
    given = ["the mayor opened the bridge ."]
    assert bartscore.compare("bridge opened .", given) > -1 > bartscore.compare("rain closed it ?", given)


def test_an_empty_output_is_the_likelihood_of_nothing(tiny_bart: Path) -> None:
    assert BartScore(model=str(tiny_bart)).compare("", ["a dog"]) == pytest.approx(
        by_hand(tiny_bart, "a dog", ""), abs=1e-5
    )


def test_a_long_text_is_refused_rather_than_cut(tiny_bart: Path) -> None:
    with pytest.raises(ModelRequestError, match="too long"):
        BartScore(model=str(tiny_bart)).compare("the cat", ["dog " * 30])
