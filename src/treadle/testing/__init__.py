"""For tests of protocols, Treadle's own and yours."""
