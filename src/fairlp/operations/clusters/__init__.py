"""Clusters as their schedulers print them: Kubernetes, Slurm, YARN and Mesos, read into an instance."""
