"""Bills of providers: rows of a FOCUS file, and which node each is of (money.md M41, M42)."""
