"""The interfaces of other packages, for programs that are written for them."""
