"""Raw text becomes TFRecords of masked sentence pairs."""
