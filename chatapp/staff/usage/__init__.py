"""Usage: what replies took in tokens, money and time, for administrators and of oneself."""
