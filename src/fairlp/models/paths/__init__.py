"""How targets grow with a level, what fits, and the one loop of rounds between them."""
