"""Fast algorithms: a second way to the same optimum, validated against the linear program."""
