"""The witness in the test process: it runs on any Python from 3.8 on, beside code that may be hostile."""
