"""Clusters as their schedulers print them: Kubernetes, Slurm and YARN, read into an instance."""
