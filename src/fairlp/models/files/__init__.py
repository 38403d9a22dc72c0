"""Everything on disk: instances, traces, and programs as MPS, LP and NL."""
