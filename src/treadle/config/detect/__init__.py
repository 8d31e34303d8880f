"""What a project is made of, told from its files: languages, and how it is tested, built and looked over."""
