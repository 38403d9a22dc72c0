"""A cluster's shares beside the fair ones: tables, what-if, and a page that has all of it."""
