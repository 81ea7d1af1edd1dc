"""What deploy/ describes, started for real: several servers on PostgreSQL and Redis, behind nginx
and Caddy as they are configured there. `.ci/run` runs these in a step of their own.
"""
