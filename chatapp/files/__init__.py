"""Files that people attach: uploading, reading, and serving them.

`uploads` receives a file in parts and puts it in a draft, `reading` reads it in the background with
`chatapp.reading`, `serving` sends it to those who may see it, and `viewing` shows what is in it.
"""
