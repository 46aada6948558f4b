"""The front of a kernel of Jupyter: it speaks the messaging protocol, and asks xstate for everything else."""
