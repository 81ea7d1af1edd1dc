-- Sums and facts of conversations; see `expected_sums` and `expected_facts` for what they count.

-- Replies

CREATE TRIGGER chatapp_facts_message_came
AFTER INSERT ON chatapp_message
WHEN NEW.role = 'assistant'
BEGIN
  UPDATE chatapp_conversationsums
  SET
    replies = replies + 1,
    cost = cost + coalesce((SELECT cost FROM chatapp_usage WHERE message_id = NEW.id), 0)
  WHERE conversation_id = NEW.conversation_id AND NEW.deleted_at IS NULL;

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
    SELECT 'tool ' || substr(json_extract(run.value, '$.name'), 1, 200)
    FROM
      json_each(NEW.earlier_rounds) AS round,
      json_each(round.value, '$.tool_runs') AS run
    WHERE json_extract(run.value, '$.name') <> ''
    UNION ALL
    SELECT 'tool ' || substr(json_extract(run.value, '$.name'), 1, 200)
    FROM json_each(NEW.tool_runs) AS run
    WHERE json_extract(run.value, '$.name') <> ''
    UNION ALL
    SELECT 'flagged'
    WHERE NEW.is_flagged
    UNION ALL
    SELECT 'flagged moderation'
    WHERE NEW.is_flagged
    UNION ALL
    SELECT 'category ' || substr(category.value, 1, 200)
    FROM
      json_each(NEW.moderation) AS side,
      json_each(side.value, '$.results') AS result,
      json_each(result.value, '$.categories') AS category
    WHERE NEW.is_flagged AND category.value <> ''
  ) AS found
  WHERE sums.conversation_id = NEW.conversation_id
  ON CONFLICT DO NOTHING;
END;

CREATE TRIGGER chatapp_facts_message_grew
AFTER UPDATE OF model, upstream_id, ending, earlier_rounds, tool_runs, is_flagged, moderation
ON chatapp_message
WHEN NEW.role = 'assistant' AND (
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
BEGIN
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
    SELECT 'tool ' || substr(json_extract(run.value, '$.name'), 1, 200)
    FROM
      json_each(NEW.earlier_rounds) AS round,
      json_each(round.value, '$.tool_runs') AS run
    WHERE json_extract(run.value, '$.name') <> ''
    UNION ALL
    SELECT 'tool ' || substr(json_extract(run.value, '$.name'), 1, 200)
    FROM json_each(NEW.tool_runs) AS run
    WHERE json_extract(run.value, '$.name') <> ''
    UNION ALL
    SELECT 'flagged'
    WHERE NEW.is_flagged
    UNION ALL
    SELECT 'flagged moderation'
    WHERE NEW.is_flagged
    UNION ALL
    SELECT 'category ' || substr(category.value, 1, 200)
    FROM
      json_each(NEW.moderation) AS side,
      json_each(side.value, '$.results') AS result,
      json_each(result.value, '$.categories') AS category
    WHERE NEW.is_flagged AND category.value <> ''
  ) AS found
  WHERE sums.conversation_id = NEW.conversation_id
  ON CONFLICT DO NOTHING;
END;

CREATE TRIGGER chatapp_facts_message_moved
AFTER UPDATE OF deleted_at, role ON chatapp_message
WHEN
  (OLD.role = 'assistant' AND OLD.deleted_at IS NULL)
  <> (NEW.role = 'assistant' AND NEW.deleted_at IS NULL)
BEGIN
  UPDATE chatapp_conversationsums
  SET
    replies = replies
      + CASE WHEN NEW.role = 'assistant' AND NEW.deleted_at IS NULL THEN 1 ELSE -1 END,
    cost = cost
      + CASE WHEN NEW.role = 'assistant' AND NEW.deleted_at IS NULL THEN 1 ELSE -1 END
      * coalesce((SELECT cost FROM chatapp_usage WHERE message_id = NEW.id), 0)
  WHERE conversation_id = NEW.conversation_id;
END;

CREATE TRIGGER chatapp_facts_message_went
AFTER DELETE ON chatapp_message
WHEN OLD.role = 'assistant' AND OLD.deleted_at IS NULL
BEGIN
  UPDATE chatapp_conversationsums
  SET
    replies = replies - 1,
    cost = cost - coalesce((SELECT cost FROM chatapp_usage WHERE message_id = OLD.id), 0)
  WHERE conversation_id = OLD.conversation_id;
END;

-- Characters: a message counts once it is no longer streaming, so that a checkpoint changes no sum.

CREATE TRIGGER chatapp_facts_text_came
AFTER INSERT ON chatapp_message
WHEN NEW.deleted_at IS NULL AND NEW.ending <> 'streaming'
BEGIN
  UPDATE chatapp_conversationsums
  SET characters = characters + length(NEW.content) + (
    SELECT coalesce(sum(length(json_extract(round.value, '$.content'))), 0)
    FROM json_each(NEW.earlier_rounds) AS round
  )
  WHERE conversation_id = NEW.conversation_id;
END;

CREATE TRIGGER chatapp_facts_text_changed
AFTER UPDATE OF content, earlier_rounds, ending, deleted_at ON chatapp_message
WHEN
  (OLD.deleted_at IS NULL AND OLD.ending <> 'streaming')
  <> (NEW.deleted_at IS NULL AND NEW.ending <> 'streaming')
  OR (
    NEW.deleted_at IS NULL AND NEW.ending <> 'streaming'
    AND (NEW.content <> OLD.content OR NEW.earlier_rounds <> OLD.earlier_rounds)
  )
BEGIN
  UPDATE chatapp_conversationsums
  SET characters = characters
    + CASE WHEN NEW.deleted_at IS NULL AND NEW.ending <> 'streaming' THEN
      length(NEW.content) + (
        SELECT coalesce(sum(length(json_extract(round.value, '$.content'))), 0)
        FROM json_each(NEW.earlier_rounds) AS round
      )
    ELSE 0 END
    - CASE WHEN OLD.deleted_at IS NULL AND OLD.ending <> 'streaming' THEN
      length(OLD.content) + (
        SELECT coalesce(sum(length(json_extract(round.value, '$.content'))), 0)
        FROM json_each(OLD.earlier_rounds) AS round
      )
    ELSE 0 END
  WHERE conversation_id = NEW.conversation_id;
END;

CREATE TRIGGER chatapp_facts_text_went
AFTER DELETE ON chatapp_message
WHEN OLD.deleted_at IS NULL AND OLD.ending <> 'streaming'
BEGIN
  UPDATE chatapp_conversationsums
  SET characters = characters - length(OLD.content) - (
    SELECT coalesce(sum(length(json_extract(round.value, '$.content'))), 0)
    FROM json_each(OLD.earlier_rounds) AS round
  )
  WHERE conversation_id = OLD.conversation_id;
END;

-- Costs: the message of a title's usage is the conversation; a summary's usage names it.

CREATE TRIGGER chatapp_facts_usage_came
AFTER INSERT ON chatapp_usage
WHEN NEW.cost <> 0
BEGIN
  UPDATE chatapp_conversationsums
  SET cost = cost + NEW.cost
  WHERE conversation_id = CASE NEW.kind WHEN 'title' THEN NEW.message_id WHEN 'recap' THEN NEW.conversation ELSE (
    SELECT conversation_id FROM chatapp_message
    WHERE id = NEW.message_id AND role = 'assistant' AND deleted_at IS NULL
  ) END;
END;

CREATE TRIGGER chatapp_facts_usage_changed
AFTER UPDATE OF cost ON chatapp_usage
WHEN coalesce(NEW.cost, 0) <> coalesce(OLD.cost, 0)
BEGIN
  UPDATE chatapp_conversationsums
  SET cost = cost + coalesce(NEW.cost, 0) - coalesce(OLD.cost, 0)
  WHERE conversation_id = CASE NEW.kind WHEN 'title' THEN NEW.message_id WHEN 'recap' THEN NEW.conversation ELSE (
    SELECT conversation_id FROM chatapp_message
    WHERE id = NEW.message_id AND role = 'assistant' AND deleted_at IS NULL
  ) END;
END;

CREATE TRIGGER chatapp_facts_usage_went
AFTER DELETE ON chatapp_usage
WHEN OLD.cost <> 0
BEGIN
  UPDATE chatapp_conversationsums
  SET cost = cost - OLD.cost
  WHERE conversation_id = CASE OLD.kind WHEN 'title' THEN OLD.message_id WHEN 'recap' THEN OLD.conversation ELSE (
    SELECT conversation_id FROM chatapp_message
    WHERE id = OLD.message_id AND role = 'assistant' AND deleted_at IS NULL
  ) END;
END;

-- Conversations

CREATE TRIGGER chatapp_facts_conversation_came
AFTER INSERT ON chatapp_conversation
BEGIN
  INSERT INTO chatapp_conversationsums
    (conversation_id, used_on, replies, cost, characters, is_whole)
  VALUES (NEW.id, date(NEW.updated_at), 0, 0, 0, true)
  ON CONFLICT DO NOTHING;
END;

CREATE TRIGGER chatapp_facts_conversation_used
AFTER UPDATE OF updated_at ON chatapp_conversation
WHEN date(OLD.updated_at) <> date(NEW.updated_at)
BEGIN
  UPDATE chatapp_conversationsums
  SET used_on = date(NEW.updated_at)
  WHERE conversation_id = NEW.id;

  UPDATE chatapp_conversationfact
  SET used_on = date(NEW.updated_at)
  WHERE conversation_id = NEW.id;
END;

CREATE TRIGGER chatapp_facts_conversation_went
AFTER DELETE ON chatapp_conversation
BEGIN
  DELETE FROM chatapp_conversationsums WHERE conversation_id = OLD.id;
  DELETE FROM chatapp_conversationfact WHERE conversation_id = OLD.id;
END;

-- Feedback and findings of rules

CREATE TRIGGER chatapp_facts_feedback_came
AFTER INSERT ON chatapp_feedback
BEGIN
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
  WHERE sums.conversation_id = (
    SELECT conversation_id FROM chatapp_message WHERE id = NEW.message_id
  )
  ON CONFLICT DO NOTHING;
END;

CREATE TRIGGER chatapp_facts_feedback_changed
AFTER UPDATE OF rating ON chatapp_feedback
WHEN NEW.rating <> OLD.rating
BEGIN
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
  WHERE sums.conversation_id = (
    SELECT conversation_id FROM chatapp_message WHERE id = NEW.message_id
  )
  ON CONFLICT DO NOTHING;
END;

CREATE TRIGGER chatapp_facts_finding_came
AFTER INSERT ON chatapp_rulefinding
BEGIN
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
  ON CONFLICT DO NOTHING;
END;
