"""Files of documents and their spans, one module for each format."""
