"""What a label is: encoded, and known only in part."""
