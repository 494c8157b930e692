"""The experiments: `-m bench`."""
