"""The administrators' room for people: who has an account, what they may do, and who comes in."""
