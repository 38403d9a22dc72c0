"""What a cluster's shares look like beside the fair ones: tables, what-if, and a page that holds all of it."""
