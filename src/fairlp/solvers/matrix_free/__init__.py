"""Max-min fairness over a list of pairs: an interior-point method that needs only passes over them."""
