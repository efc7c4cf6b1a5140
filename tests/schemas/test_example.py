from schemas.example import FEATURES


def test_the_features_are_those_of_google_research_albert():
    # create_pretraining_data.py, write_instance_to_example_files.
    assert {feature.name: (feature.dtype, feature.length) for feature in FEATURES} == {
        "input_ids": ("int64", "max_seq_length"),
        "input_mask": ("int64", "max_seq_length"),
        "segment_ids": ("int64", "max_seq_length"),
        "token_boundary": ("int64", "max_seq_length"),
        "masked_lm_positions": ("int64", "max_predictions_per_seq"),
        "masked_lm_ids": ("int64", "max_predictions_per_seq"),
        "masked_lm_weights": ("float32", "max_predictions_per_seq"),
        "next_sentence_labels": ("int64", 1),
    }
