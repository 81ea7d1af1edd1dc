"""A self-hosted chat app for teams: one Django app, which is also the project package.

Each package inside may import only packages of lower layers; see docs/architecture.md.
"""
