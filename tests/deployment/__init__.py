"""Starts what deploy/ describes for real: several servers on PostgreSQL and Redis, behind nginx and
Caddy configured as there. `.ci/run` runs these tests in a step of their own."""
