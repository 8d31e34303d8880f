"""A model that is played: real agent programs talk to it over HTTP, and what it answers is written in a script."""
