"""Per-server dominant share fairness (PS-DSF): a fixed point, its methods and its check."""
