"""What a project says about itself in `treadle.toml`, what else is in force, and where Treadle keeps its files."""
