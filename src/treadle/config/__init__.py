"""Configuration: a project's `treadle.toml`, the settings in force, and the places where Treadle keeps its files."""
