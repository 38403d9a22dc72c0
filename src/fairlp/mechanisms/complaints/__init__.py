"""No justified complaints and proportional fairness on one server.

The market, the trajectory, and the set of all fair allocations.
"""
