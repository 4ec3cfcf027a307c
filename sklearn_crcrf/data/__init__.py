"""What a sample is."""
