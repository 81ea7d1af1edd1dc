"""The formats of exports, a module for each. They write the chats of a `ChatReader` as bytes."""
