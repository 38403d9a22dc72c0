"""What Kubernetes, Kueue, Volcano, Slurm and YARN print, read into an instance."""
