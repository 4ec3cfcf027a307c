"""Models of CRFsuite: their binary files, and taggers of them."""
