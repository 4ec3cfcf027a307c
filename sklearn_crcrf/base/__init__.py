"""What all sequence classifiers share."""
