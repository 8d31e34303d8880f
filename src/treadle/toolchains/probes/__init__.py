"""Programs that run in the project's interpreter, beside code that is not trusted; Treadle imports none of them."""
