"""Best labellings by linear and integer programs."""
