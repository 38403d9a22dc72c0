"""The page of a cluster: facts, sentences, tables and charts."""
