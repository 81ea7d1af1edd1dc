-- Words are stored out of line (TOAST), so that many rows are read quickly.
ALTER TABLE chatapp_searchentry ADD COLUMN IF NOT EXISTS words tsvector;
ALTER TABLE chatapp_searchentry SET (toast_tuple_target = 128);

-- Titles are few and have indexes of their own, since searching the full index would read the
-- postings of messages too.
CREATE INDEX IF NOT EXISTS chatapp_searchentry_titles
ON chatapp_searchentry (user_id, id)
WHERE message_id IS NULL;

-- New entries wait in a GIN index's pending list, which each search scans, so it is kept short.
CREATE INDEX IF NOT EXISTS chatapp_searchentry_title_words
ON chatapp_searchentry USING gin (words) WITH (gin_pending_list_limit = 64)
WHERE message_id IS NULL;

CREATE INDEX IF NOT EXISTS chatapp_searchentry_words
ON chatapp_searchentry USING gin (words) WITH (gin_pending_list_limit = 256);
