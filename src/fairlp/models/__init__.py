"""The nouns: Instance, Model, Program, Solution, Allocation; readers and writers; worked examples."""
