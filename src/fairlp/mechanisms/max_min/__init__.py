"""Max-min fairness: DRF and its relatives, by linear programs and by rounds."""
