"""Models of other programs, both ways.

    name_maps          What the weights are called elsewhere: by Hugging Face and by
                       google-research/albert.
    external_model     What all other programs' forms of an ALBERT have in common, both
                       ways.
    huggingface        An ALBERT as Hugging Face keeps it, both ways: config.json and
                       model.safetensors.
    huggingface_tasks  Fine-tuned ALBERTs as transformers keeps them, both ways.
    google_checkpoint  An ALBERT as google-research/albert keeps it: albert_config.json
                       and a checkpoint.
    saved_model        A trained model as a SavedModel of TensorFlow, with named
                       signatures on piece ids.
    model_card         The model card: what an exported model is and how it came to be,
                       for a person.

May import: all rooms before it.
"""
