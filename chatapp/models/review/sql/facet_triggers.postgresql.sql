-- Sums and facets of conversations, and the views that say what these should be.

-- A message counts once it is no longer streaming, so that a checkpoint changes no sum.
CREATE OR REPLACE FUNCTION chatapp_count_characters(message chatapp_message) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF message.deleted_at IS NULL AND message.ending <> 'streaming' THEN
    RETURN char_length(message.content) + (
      SELECT coalesce(sum(char_length(round.text #>> '{}')), 0)
      FROM jsonb_path_query(message.earlier_rounds, '$[*].content') AS round(text)
    );
  END IF;
  RETURN 0;
END $$;

CREATE VIEW chatapp_expectedsums AS
SELECT
  conversation.id AS conversation_id,
  (conversation.updated_at AT TIME ZONE 'UTC')::date AS used_on,
  (
    SELECT count(*)
    FROM chatapp_message AS reply
    WHERE reply.conversation_id = conversation.id
      AND reply.role = 'assistant' AND reply.deleted_at IS NULL
  ) AS replies,
  (
    SELECT coalesce(sum(booked.cost), 0)
    FROM chatapp_message AS reply
    JOIN chatapp_usage AS booked ON booked.message_id = reply.id
    WHERE reply.conversation_id = conversation.id
      AND reply.role = 'assistant' AND reply.deleted_at IS NULL
  ) + coalesce((
    SELECT booked.cost
    FROM chatapp_usage AS booked
    WHERE booked.message_id = conversation.id AND booked.kind = 'title'
  ), 0) + (
    SELECT coalesce(sum(booked.cost), 0)
    FROM chatapp_usage AS booked
    WHERE booked.conversation = conversation.id
  ) AS cost,
  (
    SELECT coalesce(sum(chatapp_count_characters(message)), 0)
    FROM chatapp_message AS message
    WHERE message.conversation_id = conversation.id
  ) AS characters
FROM chatapp_conversation AS conversation;

-- Facets and the messages that they come from, some more than once.
CREATE VIEW chatapp_expectedfacets AS
SELECT reply.id AS message_id, reply.conversation_id, facet.value AS fact
FROM
  chatapp_message AS reply,
  unnest(ARRAY[
    'model ' || nullif(reply.model, ''),
    'upstream ' || reply.upstream_id,
    'ending ' || CASE WHEN reply.ending NOT IN ('', 'streaming', 'complete') THEN reply.ending END,
    CASE WHEN reply.is_flagged THEN 'flagged' END,
    CASE WHEN reply.is_flagged THEN 'flagged moderation' END
  ]) AS facet(value)
WHERE reply.role = 'assistant' AND facet.value IS NOT NULL
UNION ALL
SELECT reply.id, reply.conversation_id, 'tool ' || substr(run.name #>> '{}', 1, 200)
FROM
  chatapp_message AS reply,
  jsonb_path_query(reply.earlier_rounds, '$[*].tool_runs[*].name') AS run(name)
WHERE reply.role = 'assistant' AND run.name #>> '{}' <> ''
UNION ALL
SELECT reply.id, reply.conversation_id, 'tool ' || substr(run.name #>> '{}', 1, 200)
FROM chatapp_message AS reply, jsonb_path_query(reply.tool_runs, '$[*].name') AS run(name)
WHERE reply.role = 'assistant' AND run.name #>> '{}' <> ''
UNION ALL
SELECT reply.id, reply.conversation_id, 'category ' || substr(category.name #>> '{}', 1, 200)
FROM
  chatapp_message AS reply,
  jsonb_path_query(reply.moderation, '$.*.results[*].categories[*]') AS category(name)
WHERE reply.role = 'assistant' AND reply.is_flagged AND category.name #>> '{}' <> ''
UNION ALL
SELECT reply.id, reply.conversation_id, facet.value
FROM
  chatapp_feedback AS feedback,
  chatapp_message AS reply,
  unnest(ARRAY[
    'feedback',
    'feedback ' || feedback.rating,
    CASE WHEN feedback.rating = 'down' THEN 'flagged' END
  ]) AS facet(value)
WHERE reply.id = feedback.message_id AND reply.role = 'assistant' AND facet.value IS NOT NULL
UNION ALL
SELECT finding.message_id, finding.conversation_id, facet.value
FROM
  chatapp_rulefinding AS finding,
  unnest(ARRAY['flagged', 'flagged rule', 'flagged rule-' || finding.rule_id]) AS facet(value);

-- All triggers write by these two functions. The first updates the row of sums, even with nothing
-- to add, so that concurrent transactions wait for each other there, and returns the row's day. A
-- missing row is created, unless the conversation is being deleted.

CREATE OR REPLACE FUNCTION chatapp_add_to_sums(
  key uuid, more_replies bigint, more_cost bigint, more_characters bigint
) RETURNS date LANGUAGE plpgsql AS $$
DECLARE
  day date;
BEGIN
  UPDATE chatapp_conversationsums
  SET
    replies = replies + more_replies,
    cost = cost + more_cost,
    characters = characters + more_characters
  WHERE conversation_id = key
  RETURNING used_on INTO day;
  IF NOT FOUND THEN
    INSERT INTO chatapp_conversationsums AS sums
      (conversation_id, used_on, replies, cost, characters)
    SELECT id, (updated_at AT TIME ZONE 'UTC')::date, more_replies, more_cost, more_characters
    FROM chatapp_conversation
    WHERE id = key
    FOR KEY SHARE
    ON CONFLICT (conversation_id) DO UPDATE
    SET
      replies = sums.replies + EXCLUDED.replies,
      cost = sums.cost + EXCLUDED.cost,
      characters = sums.characters + EXCLUDED.characters
    RETURNING used_on INTO day;
  END IF;
  RETURN day;
END $$;

CREATE OR REPLACE FUNCTION chatapp_add_facets(message uuid, day date) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO chatapp_conversationfact (conversation_id, fact, used_on)
  SELECT conversation_id, fact, day
  FROM chatapp_expectedfacets
  WHERE message_id = message AND day IS NOT NULL
  ON CONFLICT DO NOTHING;
END $$;

-- Messages. In a trigger of INSERT, all columns of OLD are null; in one of DELETE, those of NEW.

CREATE OR REPLACE FUNCTION chatapp_sums_message() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  more_replies bigint :=
    CASE WHEN NEW.role = 'assistant' AND NEW.deleted_at IS NULL THEN 1 ELSE 0 END
    - CASE WHEN OLD.role = 'assistant' AND OLD.deleted_at IS NULL THEN 1 ELSE 0 END;
  more_cost bigint := CASE WHEN more_replies <> 0 THEN more_replies * coalesce(
    (SELECT cost FROM chatapp_usage WHERE message_id IN (NEW.id, OLD.id)), 0
  ) ELSE 0 END;
  day date := chatapp_add_to_sums(
    coalesce(NEW.conversation_id, OLD.conversation_id), more_replies, more_cost,
    chatapp_count_characters(NEW) - chatapp_count_characters(OLD)
  );
BEGIN
  IF TG_OP = 'INSERT' AND NEW.role = 'assistant' THEN
    PERFORM chatapp_add_facets(NEW.id, day);
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER chatapp_sums_message_insert
AFTER INSERT ON chatapp_message
FOR EACH ROW WHEN (
  NEW.role = 'assistant' OR (NEW.deleted_at IS NULL AND NEW.ending <> 'streaming')
)
EXECUTE FUNCTION chatapp_sums_message();

CREATE OR REPLACE TRIGGER chatapp_sums_message_update
AFTER UPDATE OF role, deleted_at, ending, content, earlier_rounds ON chatapp_message
FOR EACH ROW WHEN (
  (OLD.role = 'assistant' AND OLD.deleted_at IS NULL)
  <> (NEW.role = 'assistant' AND NEW.deleted_at IS NULL)
  OR (OLD.deleted_at IS NULL AND OLD.ending <> 'streaming')
  <> (NEW.deleted_at IS NULL AND NEW.ending <> 'streaming')
  OR (
    NEW.deleted_at IS NULL AND NEW.ending <> 'streaming'
    AND (NEW.content <> OLD.content OR NEW.earlier_rounds <> OLD.earlier_rounds)
  )
)
EXECUTE FUNCTION chatapp_sums_message();

CREATE OR REPLACE TRIGGER chatapp_sums_message_delete
AFTER DELETE ON chatapp_message
FOR EACH ROW WHEN (OLD.deleted_at IS NULL)
EXECUTE FUNCTION chatapp_sums_message();

-- Facets that come later, of messages, feedback and findings of rules

CREATE OR REPLACE FUNCTION chatapp_facets_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  message uuid;
  key uuid;
BEGIN
  IF TG_TABLE_NAME = 'chatapp_message' THEN
    message := NEW.id;
  ELSE
    message := NEW.message_id;
  END IF;
  SELECT conversation_id INTO key FROM chatapp_message WHERE id = message;
  PERFORM chatapp_add_facets(message, chatapp_add_to_sums(key, 0, 0, 0));
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER chatapp_facets_message_update
AFTER UPDATE OF model, upstream_id, ending, earlier_rounds, tool_runs, is_flagged, moderation
ON chatapp_message
FOR EACH ROW WHEN (
  NEW.role = 'assistant' AND (
    NEW.model <> OLD.model
    OR NEW.upstream_id <> OLD.upstream_id
    OR (NEW.upstream_id IS NOT NULL AND OLD.upstream_id IS NULL)
    OR (NEW.ending <> OLD.ending AND NEW.ending NOT IN ('', 'streaming', 'complete'))
    OR NEW.earlier_rounds <> OLD.earlier_rounds
    OR NEW.tool_runs <> OLD.tool_runs
    OR (
      NEW.is_flagged AND (
        NOT OLD.is_flagged OR NEW.moderation <> OLD.moderation OR OLD.moderation IS NULL
      )
    )
  )
)
EXECUTE FUNCTION chatapp_facets_changed();

CREATE OR REPLACE TRIGGER chatapp_facets_feedback_insert
AFTER INSERT ON chatapp_feedback
FOR EACH ROW EXECUTE FUNCTION chatapp_facets_changed();

CREATE OR REPLACE TRIGGER chatapp_facets_feedback_update
AFTER UPDATE OF rating ON chatapp_feedback
FOR EACH ROW WHEN (NEW.rating <> OLD.rating)
EXECUTE FUNCTION chatapp_facets_changed();

CREATE OR REPLACE TRIGGER chatapp_facets_finding_insert
AFTER INSERT ON chatapp_rulefinding
FOR EACH ROW EXECUTE FUNCTION chatapp_facets_changed();

-- Costs: the message of a title's usage is the conversation; a summary's usage names it.

CREATE OR REPLACE FUNCTION chatapp_sums_usage() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  booked chatapp_usage := CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
  key uuid := CASE booked.kind
    WHEN 'title' THEN booked.message_id
    WHEN 'recap' THEN booked.conversation
    ELSE (
      SELECT conversation_id
      FROM chatapp_message
      WHERE id = booked.message_id AND role = 'assistant' AND deleted_at IS NULL
    )
  END;
BEGIN
  PERFORM chatapp_add_to_sums(key, 0, coalesce(NEW.cost, 0) - coalesce(OLD.cost, 0), 0);
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER chatapp_sums_usage_insert
AFTER INSERT ON chatapp_usage
FOR EACH ROW WHEN (NEW.cost <> 0)
EXECUTE FUNCTION chatapp_sums_usage();

CREATE OR REPLACE TRIGGER chatapp_sums_usage_update
AFTER UPDATE OF cost ON chatapp_usage
FOR EACH ROW WHEN (coalesce(NEW.cost, 0) <> coalesce(OLD.cost, 0))
EXECUTE FUNCTION chatapp_sums_usage();

CREATE OR REPLACE TRIGGER chatapp_sums_usage_delete
AFTER DELETE ON chatapp_usage
FOR EACH ROW WHEN (OLD.cost <> 0)
EXECUTE FUNCTION chatapp_sums_usage();

-- Conversations

CREATE OR REPLACE FUNCTION chatapp_facets_conversation() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  day date := (NEW.updated_at AT TIME ZONE 'UTC')::date;
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO chatapp_conversationsums
      (conversation_id, used_on, replies, cost, characters, is_whole)
    VALUES (NEW.id, day, 0, 0, 0, true)
    ON CONFLICT DO NOTHING;
  ELSIF TG_OP = 'UPDATE' THEN
    PERFORM chatapp_add_to_sums(NEW.id, 0, 0, 0);
    UPDATE chatapp_conversationsums SET used_on = day WHERE conversation_id = NEW.id;
    UPDATE chatapp_conversationfact SET used_on = day WHERE conversation_id = NEW.id;
  ELSE
    DELETE FROM chatapp_conversationsums WHERE conversation_id = OLD.id;
    DELETE FROM chatapp_conversationfact WHERE conversation_id = OLD.id;
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER chatapp_facets_conversation_insert
AFTER INSERT ON chatapp_conversation
FOR EACH ROW EXECUTE FUNCTION chatapp_facets_conversation();

CREATE OR REPLACE TRIGGER chatapp_facets_conversation_update
AFTER UPDATE OF updated_at ON chatapp_conversation
FOR EACH ROW WHEN (
  (OLD.updated_at AT TIME ZONE 'UTC')::date
  <> (NEW.updated_at AT TIME ZONE 'UTC')::date
)
EXECUTE FUNCTION chatapp_facets_conversation();

CREATE OR REPLACE TRIGGER chatapp_facets_conversation_delete
AFTER DELETE ON chatapp_conversation
FOR EACH ROW EXECUTE FUNCTION chatapp_facets_conversation();
