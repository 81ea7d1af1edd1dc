"""Tests that the app withstands foreign text, other people and floods."""
