-- Sums and facts of conversations; see `expected_sums` and `expected_facts` for what they count.
--
-- Each function first updates the row of sums, even with nothing to add, so that concurrent
-- transactions wait for each other there. A missing row is created, unless the conversation is
-- being deleted.

-- Replies

CREATE OR REPLACE FUNCTION chatapp_facts_message_came() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  more_replies bigint := CASE WHEN NEW.deleted_at IS NULL THEN 1 ELSE 0 END;
  more_cost bigint := more_replies * coalesce(
    (SELECT cost FROM chatapp_usage WHERE message_id = NEW.id), 0
  );
BEGIN
  UPDATE chatapp_conversationsums
  SET replies = replies + more_replies, cost = cost + more_cost
  WHERE conversation_id = NEW.conversation_id;
  IF NOT FOUND THEN
    INSERT INTO chatapp_conversationsums AS kept
      (conversation_id, used_on, replies, cost, characters)
    SELECT id, (updated_at AT TIME ZONE 'UTC')::date, more_replies, more_cost, 0
    FROM chatapp_conversation
    WHERE id = NEW.conversation_id
    FOR KEY SHARE
    ON CONFLICT (conversation_id) DO UPDATE
    SET replies = kept.replies + EXCLUDED.replies, cost = kept.cost + EXCLUDED.cost;
  END IF;

  INSERT INTO chatapp_conversationfact (conversation_id, fact, used_on)
  SELECT sums.conversation_id, found.fact, sums.used_on
  FROM chatapp_conversationsums AS sums, (
    SELECT 'model ' || NEW.model AS fact
    WHERE NEW.model <> ''
    UNION ALL
    SELECT 'upstream ' || NEW.upstream_id
    WHERE NEW.upstream_id IS NOT NULL
    UNION ALL
    SELECT 'ending ' || NEW.ending
    WHERE NEW.ending NOT IN ('', 'streaming', 'complete')
    UNION ALL
    SELECT 'tool ' || substr(run.name #>> '{}', 1, 200)
    FROM jsonb_path_query(NEW.earlier_rounds, '$[*].tool_runs[*].name') AS run(name)
    WHERE run.name #>> '{}' <> ''
    UNION ALL
    SELECT 'tool ' || substr(run.name #>> '{}', 1, 200)
    FROM jsonb_path_query(NEW.tool_runs, '$[*].name') AS run(name)
    WHERE run.name #>> '{}' <> ''
    UNION ALL
    SELECT 'flagged'
    WHERE NEW.is_flagged
    UNION ALL
    SELECT 'flagged moderation'
    WHERE NEW.is_flagged
    UNION ALL
    SELECT 'category ' || substr(category.name #>> '{}', 1, 200)
    FROM jsonb_path_query(NEW.moderation, '$.*.results[*].categories[*]') AS category(name)
    WHERE NEW.is_flagged AND category.name #>> '{}' <> ''
  ) AS found
  WHERE sums.conversation_id = NEW.conversation_id
  FOR SHARE OF sums
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER chatapp_facts_message_came
AFTER INSERT ON chatapp_message
FOR EACH ROW WHEN (NEW.role = 'assistant')
EXECUTE FUNCTION chatapp_facts_message_came();

CREATE OR REPLACE FUNCTION chatapp_facts_message_grew() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE chatapp_conversationsums
  SET replies = replies
  WHERE conversation_id = NEW.conversation_id;
  IF NOT FOUND THEN
    INSERT INTO chatapp_conversationsums AS kept
      (conversation_id, used_on, replies, cost, characters)
    SELECT id, (updated_at AT TIME ZONE 'UTC')::date, 0, 0, 0
    FROM chatapp_conversation
    WHERE id = NEW.conversation_id
    FOR KEY SHARE
    ON CONFLICT (conversation_id) DO UPDATE
    SET replies = kept.replies;
  END IF;

  INSERT INTO chatapp_conversationfact (conversation_id, fact, used_on)
  SELECT sums.conversation_id, found.fact, sums.used_on
  FROM chatapp_conversationsums AS sums, (
    SELECT 'model ' || NEW.model AS fact
    WHERE NEW.model <> ''
    UNION ALL
    SELECT 'upstream ' || NEW.upstream_id
    WHERE NEW.upstream_id IS NOT NULL
    UNION ALL
    SELECT 'ending ' || NEW.ending
    WHERE NEW.ending NOT IN ('', 'streaming', 'complete')
    UNION ALL
    SELECT 'tool ' || substr(run.name #>> '{}', 1, 200)
    FROM jsonb_path_query(NEW.earlier_rounds, '$[*].tool_runs[*].name') AS run(name)
    WHERE run.name #>> '{}' <> ''
    UNION ALL
    SELECT 'tool ' || substr(run.name #>> '{}', 1, 200)
    FROM jsonb_path_query(NEW.tool_runs, '$[*].name') AS run(name)
    WHERE run.name #>> '{}' <> ''
    UNION ALL
    SELECT 'flagged'
    WHERE NEW.is_flagged
    UNION ALL
    SELECT 'flagged moderation'
    WHERE NEW.is_flagged
    UNION ALL
    SELECT 'category ' || substr(category.name #>> '{}', 1, 200)
    FROM jsonb_path_query(NEW.moderation, '$.*.results[*].categories[*]') AS category(name)
    WHERE NEW.is_flagged AND category.name #>> '{}' <> ''
  ) AS found
  WHERE sums.conversation_id = NEW.conversation_id
  FOR SHARE OF sums
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER chatapp_facts_message_grew
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
EXECUTE FUNCTION chatapp_facts_message_grew();

CREATE OR REPLACE FUNCTION chatapp_facts_message_moved() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  more_replies bigint := CASE
    WHEN NEW.role = 'assistant' AND NEW.deleted_at IS NULL THEN 1 ELSE -1
  END;
  more_cost bigint := more_replies * coalesce(
    (SELECT cost FROM chatapp_usage WHERE message_id = NEW.id), 0
  );
BEGIN
  UPDATE chatapp_conversationsums
  SET replies = replies + more_replies, cost = cost + more_cost
  WHERE conversation_id = NEW.conversation_id;
  IF NOT FOUND THEN
    INSERT INTO chatapp_conversationsums AS kept
      (conversation_id, used_on, replies, cost, characters)
    SELECT id, (updated_at AT TIME ZONE 'UTC')::date, more_replies, more_cost, 0
    FROM chatapp_conversation
    WHERE id = NEW.conversation_id
    FOR KEY SHARE
    ON CONFLICT (conversation_id) DO UPDATE
    SET replies = kept.replies + EXCLUDED.replies, cost = kept.cost + EXCLUDED.cost;
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER chatapp_facts_message_moved
AFTER UPDATE OF deleted_at, role ON chatapp_message
FOR EACH ROW WHEN (
  (OLD.role = 'assistant' AND OLD.deleted_at IS NULL)
  <> (NEW.role = 'assistant' AND NEW.deleted_at IS NULL)
)
EXECUTE FUNCTION chatapp_facts_message_moved();

CREATE OR REPLACE FUNCTION chatapp_facts_message_went() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  more_replies bigint := -1;
  more_cost bigint := -coalesce(
    (SELECT cost FROM chatapp_usage WHERE message_id = OLD.id), 0
  );
BEGIN
  UPDATE chatapp_conversationsums
  SET replies = replies + more_replies, cost = cost + more_cost
  WHERE conversation_id = OLD.conversation_id;
  IF NOT FOUND THEN
    INSERT INTO chatapp_conversationsums AS kept
      (conversation_id, used_on, replies, cost, characters)
    SELECT id, (updated_at AT TIME ZONE 'UTC')::date, more_replies, more_cost, 0
    FROM chatapp_conversation
    WHERE id = OLD.conversation_id
    FOR KEY SHARE
    ON CONFLICT (conversation_id) DO UPDATE
    SET replies = kept.replies + EXCLUDED.replies, cost = kept.cost + EXCLUDED.cost;
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER chatapp_facts_message_went
AFTER DELETE ON chatapp_message
FOR EACH ROW WHEN (OLD.role = 'assistant' AND OLD.deleted_at IS NULL)
EXECUTE FUNCTION chatapp_facts_message_went();

-- Characters: a message counts once it is no longer streaming, so that a checkpoint changes no sum.

CREATE OR REPLACE FUNCTION chatapp_facts_text_came() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  more_characters bigint := char_length(NEW.content) + (
    SELECT coalesce(sum(char_length(said.text #>> '{}')), 0)
    FROM jsonb_path_query(NEW.earlier_rounds, '$[*].content') AS said(text)
  );
BEGIN
  UPDATE chatapp_conversationsums
  SET characters = characters + more_characters
  WHERE conversation_id = NEW.conversation_id;
  IF NOT FOUND THEN
    INSERT INTO chatapp_conversationsums AS kept
      (conversation_id, used_on, replies, cost, characters)
    SELECT id, (updated_at AT TIME ZONE 'UTC')::date, 0, 0, more_characters
    FROM chatapp_conversation
    WHERE id = NEW.conversation_id
    FOR KEY SHARE
    ON CONFLICT (conversation_id) DO UPDATE
    SET characters = kept.characters + EXCLUDED.characters;
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER chatapp_facts_text_came
AFTER INSERT ON chatapp_message
FOR EACH ROW WHEN (NEW.deleted_at IS NULL AND NEW.ending <> 'streaming')
EXECUTE FUNCTION chatapp_facts_text_came();

CREATE OR REPLACE FUNCTION chatapp_facts_text_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  more_characters bigint :=
    CASE WHEN NEW.deleted_at IS NULL AND NEW.ending <> 'streaming' THEN
      char_length(NEW.content) + (
        SELECT coalesce(sum(char_length(said.text #>> '{}')), 0)
        FROM jsonb_path_query(NEW.earlier_rounds, '$[*].content') AS said(text)
      )
    ELSE 0 END
    - CASE WHEN OLD.deleted_at IS NULL AND OLD.ending <> 'streaming' THEN
      char_length(OLD.content) + (
        SELECT coalesce(sum(char_length(said.text #>> '{}')), 0)
        FROM jsonb_path_query(OLD.earlier_rounds, '$[*].content') AS said(text)
      )
    ELSE 0 END;
BEGIN
  UPDATE chatapp_conversationsums
  SET characters = characters + more_characters
  WHERE conversation_id = NEW.conversation_id;
  IF NOT FOUND THEN
    INSERT INTO chatapp_conversationsums AS kept
      (conversation_id, used_on, replies, cost, characters)
    SELECT id, (updated_at AT TIME ZONE 'UTC')::date, 0, 0, more_characters
    FROM chatapp_conversation
    WHERE id = NEW.conversation_id
    FOR KEY SHARE
    ON CONFLICT (conversation_id) DO UPDATE
    SET characters = kept.characters + EXCLUDED.characters;
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER chatapp_facts_text_changed
AFTER UPDATE OF content, earlier_rounds, ending, deleted_at ON chatapp_message
FOR EACH ROW WHEN (
  (OLD.deleted_at IS NULL AND OLD.ending <> 'streaming')
  <> (NEW.deleted_at IS NULL AND NEW.ending <> 'streaming')
  OR (
    NEW.deleted_at IS NULL AND NEW.ending <> 'streaming'
    AND (NEW.content <> OLD.content OR NEW.earlier_rounds <> OLD.earlier_rounds)
  )
)
EXECUTE FUNCTION chatapp_facts_text_changed();

CREATE OR REPLACE FUNCTION chatapp_facts_text_went() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  more_characters bigint := -char_length(OLD.content) - (
    SELECT coalesce(sum(char_length(said.text #>> '{}')), 0)
    FROM jsonb_path_query(OLD.earlier_rounds, '$[*].content') AS said(text)
  );
BEGIN
  UPDATE chatapp_conversationsums
  SET characters = characters + more_characters
  WHERE conversation_id = OLD.conversation_id;
  IF NOT FOUND THEN
    INSERT INTO chatapp_conversationsums AS kept
      (conversation_id, used_on, replies, cost, characters)
    SELECT id, (updated_at AT TIME ZONE 'UTC')::date, 0, 0, more_characters
    FROM chatapp_conversation
    WHERE id = OLD.conversation_id
    FOR KEY SHARE
    ON CONFLICT (conversation_id) DO UPDATE
    SET characters = kept.characters + EXCLUDED.characters;
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER chatapp_facts_text_went
AFTER DELETE ON chatapp_message
FOR EACH ROW WHEN (OLD.deleted_at IS NULL AND OLD.ending <> 'streaming')
EXECUTE FUNCTION chatapp_facts_text_went();

-- Costs: the message of a title's usage is the conversation; a summary's usage names it.

CREATE OR REPLACE FUNCTION chatapp_facts_usage_came() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  its_conversation uuid := CASE NEW.kind WHEN 'title' THEN NEW.message_id WHEN 'recap' THEN NEW.conversation ELSE (
    SELECT conversation_id FROM chatapp_message
    WHERE id = NEW.message_id AND role = 'assistant' AND deleted_at IS NULL
  ) END;
  more_cost bigint := NEW.cost;
BEGIN
  UPDATE chatapp_conversationsums
  SET cost = cost + more_cost
  WHERE conversation_id = its_conversation;
  IF NOT FOUND THEN
    INSERT INTO chatapp_conversationsums AS kept
      (conversation_id, used_on, replies, cost, characters)
    SELECT id, (updated_at AT TIME ZONE 'UTC')::date, 0, more_cost, 0
    FROM chatapp_conversation
    WHERE id = its_conversation
    FOR KEY SHARE
    ON CONFLICT (conversation_id) DO UPDATE
    SET cost = kept.cost + EXCLUDED.cost;
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER chatapp_facts_usage_came
AFTER INSERT ON chatapp_usage
FOR EACH ROW WHEN (NEW.cost <> 0)
EXECUTE FUNCTION chatapp_facts_usage_came();

CREATE OR REPLACE FUNCTION chatapp_facts_usage_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  its_conversation uuid := CASE NEW.kind WHEN 'title' THEN NEW.message_id WHEN 'recap' THEN NEW.conversation ELSE (
    SELECT conversation_id FROM chatapp_message
    WHERE id = NEW.message_id AND role = 'assistant' AND deleted_at IS NULL
  ) END;
  more_cost bigint := coalesce(NEW.cost, 0) - coalesce(OLD.cost, 0);
BEGIN
  UPDATE chatapp_conversationsums
  SET cost = cost + more_cost
  WHERE conversation_id = its_conversation;
  IF NOT FOUND THEN
    INSERT INTO chatapp_conversationsums AS kept
      (conversation_id, used_on, replies, cost, characters)
    SELECT id, (updated_at AT TIME ZONE 'UTC')::date, 0, more_cost, 0
    FROM chatapp_conversation
    WHERE id = its_conversation
    FOR KEY SHARE
    ON CONFLICT (conversation_id) DO UPDATE
    SET cost = kept.cost + EXCLUDED.cost;
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER chatapp_facts_usage_changed
AFTER UPDATE OF cost ON chatapp_usage
FOR EACH ROW WHEN (coalesce(NEW.cost, 0) <> coalesce(OLD.cost, 0))
EXECUTE FUNCTION chatapp_facts_usage_changed();

CREATE OR REPLACE FUNCTION chatapp_facts_usage_went() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  its_conversation uuid := CASE OLD.kind WHEN 'title' THEN OLD.message_id WHEN 'recap' THEN OLD.conversation ELSE (
    SELECT conversation_id FROM chatapp_message
    WHERE id = OLD.message_id AND role = 'assistant' AND deleted_at IS NULL
  ) END;
  more_cost bigint := -OLD.cost;
BEGIN
  UPDATE chatapp_conversationsums
  SET cost = cost + more_cost
  WHERE conversation_id = its_conversation;
  IF NOT FOUND THEN
    INSERT INTO chatapp_conversationsums AS kept
      (conversation_id, used_on, replies, cost, characters)
    SELECT id, (updated_at AT TIME ZONE 'UTC')::date, 0, more_cost, 0
    FROM chatapp_conversation
    WHERE id = its_conversation
    FOR KEY SHARE
    ON CONFLICT (conversation_id) DO UPDATE
    SET cost = kept.cost + EXCLUDED.cost;
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER chatapp_facts_usage_went
AFTER DELETE ON chatapp_usage
FOR EACH ROW WHEN (OLD.cost <> 0)
EXECUTE FUNCTION chatapp_facts_usage_went();

-- Conversations

CREATE OR REPLACE FUNCTION chatapp_facts_conversation_came() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO chatapp_conversationsums
    (conversation_id, used_on, replies, cost, characters, is_whole)
  VALUES (NEW.id, (NEW.updated_at AT TIME ZONE 'UTC')::date, 0, 0, 0, true)
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER chatapp_facts_conversation_came
AFTER INSERT ON chatapp_conversation
FOR EACH ROW EXECUTE FUNCTION chatapp_facts_conversation_came();

CREATE OR REPLACE FUNCTION chatapp_facts_conversation_used() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE chatapp_conversationsums
  SET replies = replies
  WHERE conversation_id = NEW.id;
  IF NOT FOUND THEN
    INSERT INTO chatapp_conversationsums AS kept
      (conversation_id, used_on, replies, cost, characters)
    SELECT id, (updated_at AT TIME ZONE 'UTC')::date, 0, 0, 0
    FROM chatapp_conversation
    WHERE id = NEW.id
    FOR KEY SHARE
    ON CONFLICT (conversation_id) DO UPDATE
    SET replies = kept.replies;
  END IF;

  UPDATE chatapp_conversationsums
  SET used_on = (NEW.updated_at AT TIME ZONE 'UTC')::date
  WHERE conversation_id = NEW.id;

  UPDATE chatapp_conversationfact
  SET used_on = (NEW.updated_at AT TIME ZONE 'UTC')::date
  WHERE conversation_id = NEW.id;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER chatapp_facts_conversation_used
AFTER UPDATE OF updated_at ON chatapp_conversation
FOR EACH ROW WHEN (
  (OLD.updated_at AT TIME ZONE 'UTC')::date
  <> (NEW.updated_at AT TIME ZONE 'UTC')::date
)
EXECUTE FUNCTION chatapp_facts_conversation_used();

CREATE OR REPLACE FUNCTION chatapp_facts_conversation_went() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM chatapp_conversationsums WHERE conversation_id = OLD.id;
  DELETE FROM chatapp_conversationfact WHERE conversation_id = OLD.id;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER chatapp_facts_conversation_went
AFTER DELETE ON chatapp_conversation
FOR EACH ROW EXECUTE FUNCTION chatapp_facts_conversation_went();

-- Feedback and findings of rules

CREATE OR REPLACE FUNCTION chatapp_facts_feedback_came() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  its_conversation uuid := (
    SELECT conversation_id FROM chatapp_message WHERE id = NEW.message_id
  );
BEGIN
  UPDATE chatapp_conversationsums
  SET replies = replies
  WHERE conversation_id = its_conversation;
  IF NOT FOUND THEN
    INSERT INTO chatapp_conversationsums AS kept
      (conversation_id, used_on, replies, cost, characters)
    SELECT id, (updated_at AT TIME ZONE 'UTC')::date, 0, 0, 0
    FROM chatapp_conversation
    WHERE id = its_conversation
    FOR KEY SHARE
    ON CONFLICT (conversation_id) DO UPDATE
    SET replies = kept.replies;
  END IF;

  INSERT INTO chatapp_conversationfact (conversation_id, fact, used_on)
  SELECT sums.conversation_id, found.fact, sums.used_on
  FROM chatapp_conversationsums AS sums, (
    SELECT 'feedback' AS fact
    UNION ALL
    SELECT 'feedback ' || NEW.rating
    UNION ALL
    SELECT 'flagged'
    WHERE NEW.rating = 'down'
  ) AS found
  WHERE sums.conversation_id = its_conversation
  FOR SHARE OF sums
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER chatapp_facts_feedback_came
AFTER INSERT ON chatapp_feedback
FOR EACH ROW EXECUTE FUNCTION chatapp_facts_feedback_came();

CREATE OR REPLACE FUNCTION chatapp_facts_feedback_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  its_conversation uuid := (
    SELECT conversation_id FROM chatapp_message WHERE id = NEW.message_id
  );
BEGIN
  UPDATE chatapp_conversationsums
  SET replies = replies
  WHERE conversation_id = its_conversation;
  IF NOT FOUND THEN
    INSERT INTO chatapp_conversationsums AS kept
      (conversation_id, used_on, replies, cost, characters)
    SELECT id, (updated_at AT TIME ZONE 'UTC')::date, 0, 0, 0
    FROM chatapp_conversation
    WHERE id = its_conversation
    FOR KEY SHARE
    ON CONFLICT (conversation_id) DO UPDATE
    SET replies = kept.replies;
  END IF;

  INSERT INTO chatapp_conversationfact (conversation_id, fact, used_on)
  SELECT sums.conversation_id, found.fact, sums.used_on
  FROM chatapp_conversationsums AS sums, (
    SELECT 'feedback' AS fact
    UNION ALL
    SELECT 'feedback ' || NEW.rating
    UNION ALL
    SELECT 'flagged'
    WHERE NEW.rating = 'down'
  ) AS found
  WHERE sums.conversation_id = its_conversation
  FOR SHARE OF sums
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER chatapp_facts_feedback_changed
AFTER UPDATE OF rating ON chatapp_feedback
FOR EACH ROW WHEN (NEW.rating <> OLD.rating)
EXECUTE FUNCTION chatapp_facts_feedback_changed();

CREATE OR REPLACE FUNCTION chatapp_facts_finding_came() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE chatapp_conversationsums
  SET replies = replies
  WHERE conversation_id = NEW.conversation_id;
  IF NOT FOUND THEN
    INSERT INTO chatapp_conversationsums AS kept
      (conversation_id, used_on, replies, cost, characters)
    SELECT id, (updated_at AT TIME ZONE 'UTC')::date, 0, 0, 0
    FROM chatapp_conversation
    WHERE id = NEW.conversation_id
    FOR KEY SHARE
    ON CONFLICT (conversation_id) DO UPDATE
    SET replies = kept.replies;
  END IF;

  INSERT INTO chatapp_conversationfact (conversation_id, fact, used_on)
  SELECT sums.conversation_id, found.fact, sums.used_on
  FROM chatapp_conversationsums AS sums, (
    SELECT 'flagged' AS fact
    UNION ALL
    SELECT 'flagged rule'
    UNION ALL
    SELECT 'flagged rule-' || NEW.rule_id
  ) AS found
  WHERE sums.conversation_id = NEW.conversation_id
  FOR SHARE OF sums
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER chatapp_facts_finding_came
AFTER INSERT ON chatapp_rulefinding
FOR EACH ROW EXECUTE FUNCTION chatapp_facts_finding_came();
