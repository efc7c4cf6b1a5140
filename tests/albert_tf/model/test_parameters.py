"""Parameter counts: the exact integers of the published models."""

import dataclasses

import pytest

from albert_tf.model.parameters import count_encoder_parameters, count_parameters, weight_shapes
from albert_tf.model.pretrainer import AlbertPretrainer
from schemas.architecture import PRESETS
from tests.huggingface_albert import SMALL

BASE = PRESETS["base"]


@pytest.mark.parametrize(
    ("config", "count"),
    [
        (PRESETS["base"], 11_683_584),
        (PRESETS["large"], 17_683_968),
        (PRESETS["xlarge"], 58_724_864),
        (PRESETS["xxlarge"], 222_595_584),
        (PRESETS["bert-base"], 109_081_344),
        (PRESETS["bert-large"], 334_607_360),
        (dataclasses.replace(BASE, sharing="attention"), 63_647_232),
        (dataclasses.replace(BASE, sharing="ffn"), 37_686_528),
        (dataclasses.replace(BASE, sharing="none"), 89_650_176),
        (dataclasses.replace(BASE, embedding_size=64), 9_681_408),
        (dataclasses.replace(BASE, embedding_size=256), 15_687_936),
        (dataclasses.replace(BASE, embedding_size=768), 31_114_752),
    ],
)
def test_encoder_and_pooler_have_the_published_number_of_weights(config, count):
    assert count_encoder_parameters(config) == count


@pytest.mark.parametrize(
    "config",
    [
        BASE,
        SMALL,
        dataclasses.replace(SMALL, num_hidden_groups=2, inner_group_num=2),
        dataclasses.replace(SMALL, sharing="attention", num_hidden_groups=2, inner_group_num=2),
        dataclasses.replace(SMALL, sharing="ffn"),
        dataclasses.replace(SMALL, sharing="none", embedding_size=16),
        dataclasses.replace(SMALL, embedding_size=16, embedding_projection="always"),
        dataclasses.replace(SMALL, sentence_task="none", type_vocab_size=3),
    ],
)
def test_counts_are_those_of_the_model_that_is_built(config):
    weights = AlbertPretrainer(config).weights_by_path
    built = dict.fromkeys(count_parameters(config), 0)
    markers = {
        "/embeddings/projection/": "projection",
        "/embeddings/": "embeddings",
        "_attention/": "attention",
        "_ffn/": "ffn",
        "/pooler/": "pooler",
        "/masked_lm_head/": "masked_lm_head",
        "/sentence_head/": "sentence_head",
    }
    for path, weight in weights.items():
        part = next(part for marker, part in markers.items() if marker in path)
        built[part] += int(weight.value.shape.num_elements())
    assert count_parameters(config) == built
    assert weight_shapes(config) == {p: tuple(w.shape) for p, w in weights.items()}
