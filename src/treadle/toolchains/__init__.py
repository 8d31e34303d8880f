"""How a project is built, tested and looked over, and what its tools really said."""
