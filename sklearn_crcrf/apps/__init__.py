"""Applications: the command line, pages in a browser, and annotation."""
