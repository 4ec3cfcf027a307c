"""Data: sequences of tokens, in the common form of all accepted inputs."""
