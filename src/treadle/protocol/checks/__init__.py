"""The static checks, one family per file; `treadle.protocol.check` explains the proof they form together."""
