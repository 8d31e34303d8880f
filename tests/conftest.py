"""How the tests run on any machine."""

from hypothesis import settings

# Whether an example took long says something about the machine, not about the code.
settings.register_profile("steady", deadline=None)
settings.load_profile("steady")
