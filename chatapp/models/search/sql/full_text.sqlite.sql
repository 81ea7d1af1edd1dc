-- Words are already normalised: only a space separates them, and nothing is folded again. The table
-- stores its content, because deleting from a contentless one in SQLite 3.40 requires the words.
-- The prefixes are two and three letters after the owner: very many words may begin with these.
CREATE VIRTUAL TABLE IF NOT EXISTS chatapp_words
USING fts5(words, tokenize = "ascii tokenchars '_'", prefix = '9 10');
