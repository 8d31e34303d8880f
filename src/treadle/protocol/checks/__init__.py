"""The static checks, one family per file; `treadle.protocol.check` says what they prove together."""
