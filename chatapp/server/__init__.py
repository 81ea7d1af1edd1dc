"""How the app is served: the reactor, both protocols, threads, headers, the data directory."""
