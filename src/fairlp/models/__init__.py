"""The nouns: Instance, Model, Program, Solution, Allocation; their readers, writers, examples."""
