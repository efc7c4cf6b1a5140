"""TFRecords become a trained ALBERT."""
