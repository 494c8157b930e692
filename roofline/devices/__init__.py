"""Devices: what every kind offers (`base`), how one is chosen (`choose`), and a module or package for each kind."""
