"""The pages of presets: the list, the form, versions, sharing, export and import."""
