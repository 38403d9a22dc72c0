"""No justified complaints and proportional fairness: the market, the trajectory, all fair allocations."""
