"""The version, on its own so that packaging reads it without importing anything."""

VERSION = "0.1.0"
