"""The estimators, one folder or file each."""
