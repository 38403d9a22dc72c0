"""What tenants have and are due, what stops their jobs, and which jobs fit."""
