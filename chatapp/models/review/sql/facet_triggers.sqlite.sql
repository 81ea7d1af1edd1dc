-- Sums and facets of conversations, and the views that say what these should be.

CREATE VIEW chatapp_expectedsums AS
SELECT
  conversation.id AS conversation_id,
  date(conversation.updated_at) AS used_on,
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
    SELECT coalesce(sum(length(message.content) + (
      SELECT coalesce(sum(length(json_extract(round.value, '$.content'))), 0)
      FROM json_each(message.earlier_rounds) AS round
    )), 0)
    FROM chatapp_message AS message
    WHERE message.conversation_id = conversation.id
      AND message.deleted_at IS NULL AND message.ending <> 'streaming'
  ) AS characters
FROM chatapp_conversation AS conversation;

-- Facets and the messages that they come from, some more than once.
CREATE VIEW chatapp_expectedfacets AS
SELECT reply.id AS message_id, reply.conversation_id, facet.value AS fact
FROM
  chatapp_message AS reply,
  json_each(json_array(
    'model ' || nullif(reply.model, ''),
    'upstream ' || reply.upstream_id,
    'ending ' || CASE WHEN reply.ending NOT IN ('', 'streaming', 'complete') THEN reply.ending END,
    CASE WHEN reply.is_flagged THEN 'flagged' END,
    CASE WHEN reply.is_flagged THEN 'flagged moderation' END
  )) AS facet
WHERE reply.role = 'assistant' AND facet.value IS NOT NULL
UNION ALL
SELECT reply.id, reply.conversation_id, 'tool ' || substr(json_extract(run.value, '$.name'), 1, 200)
FROM
  chatapp_message AS reply,
  json_each(reply.earlier_rounds) AS round,
  json_each(round.value, '$.tool_runs') AS run
WHERE reply.role = 'assistant' AND json_extract(run.value, '$.name') <> ''
UNION ALL
SELECT reply.id, reply.conversation_id, 'tool ' || substr(json_extract(run.value, '$.name'), 1, 200)
FROM chatapp_message AS reply, json_each(reply.tool_runs) AS run
WHERE reply.role = 'assistant' AND json_extract(run.value, '$.name') <> ''
UNION ALL
SELECT reply.id, reply.conversation_id, 'category ' || substr(category.value, 1, 200)
FROM
  chatapp_message AS reply,
  json_each(reply.moderation) AS side,
  json_each(side.value, '$.results') AS result,
  json_each(result.value, '$.categories') AS category
WHERE reply.role = 'assistant' AND reply.is_flagged AND category.value <> ''
UNION ALL
SELECT reply.id, reply.conversation_id, facet.value
FROM
  chatapp_feedback AS feedback,
  chatapp_message AS reply,
  json_each(json_array(
    'feedback',
    'feedback ' || feedback.rating,
    CASE WHEN feedback.rating = 'down' THEN 'flagged' END
  )) AS facet
WHERE reply.id = feedback.message_id AND reply.role = 'assistant' AND facet.value IS NOT NULL
UNION ALL
SELECT finding.message_id, finding.conversation_id, facet.value
FROM
  chatapp_rulefinding AS finding,
  json_each(json_array('flagged', 'flagged rule', 'flagged rule-' || finding.rule_id)) AS facet;

-- Facets: triggers insert a message into the view to add the facets that come from it.

CREATE TRIGGER chatapp_facets_add
INSTEAD OF INSERT ON chatapp_expectedfacets
BEGIN
  INSERT INTO chatapp_conversationfact (conversation_id, fact, used_on)
  SELECT conversation_id, fact, used_on
  FROM chatapp_expectedfacets JOIN chatapp_conversationsums USING (conversation_id)
  WHERE message_id = NEW.message_id
  ON CONFLICT DO NOTHING;
END;

CREATE TRIGGER chatapp_facets_message_insert
AFTER INSERT ON chatapp_message
WHEN NEW.role = 'assistant'
BEGIN
  INSERT INTO chatapp_expectedfacets (message_id) VALUES (NEW.id);
END;

CREATE TRIGGER chatapp_facets_message_update
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
  INSERT INTO chatapp_expectedfacets (message_id) VALUES (NEW.id);
END;

CREATE TRIGGER chatapp_facets_feedback_insert
AFTER INSERT ON chatapp_feedback
BEGIN
  INSERT INTO chatapp_expectedfacets (message_id) VALUES (NEW.message_id);
END;

CREATE TRIGGER chatapp_facets_feedback_update
AFTER UPDATE OF rating ON chatapp_feedback
WHEN NEW.rating <> OLD.rating
BEGIN
  INSERT INTO chatapp_expectedfacets (message_id) VALUES (NEW.message_id);
END;

CREATE TRIGGER chatapp_facets_finding_insert
AFTER INSERT ON chatapp_rulefinding
BEGIN
  INSERT INTO chatapp_expectedfacets (message_id) VALUES (NEW.message_id);
END;

-- Sums of messages: one counts its characters once it is no longer streaming, so that a checkpoint
-- changes no sum.

CREATE TRIGGER chatapp_sums_message_insert
AFTER INSERT ON chatapp_message
WHEN NEW.deleted_at IS NULL
BEGIN
  UPDATE chatapp_conversationsums
  SET
    replies = replies + (NEW.role = 'assistant'),
    cost = cost + (NEW.role = 'assistant')
      * coalesce((SELECT cost FROM chatapp_usage WHERE message_id = NEW.id), 0),
    characters = characters + (NEW.ending <> 'streaming') * (
      SELECT length(NEW.content) + coalesce(sum(length(json_extract(value, '$.content'))), 0)
      FROM json_each(NEW.earlier_rounds)
    )
  WHERE conversation_id = NEW.conversation_id;
END;

CREATE TRIGGER chatapp_sums_message_update
AFTER UPDATE OF role, deleted_at, ending, content, earlier_rounds ON chatapp_message
WHEN
  (OLD.role = 'assistant' AND OLD.deleted_at IS NULL)
  <> (NEW.role = 'assistant' AND NEW.deleted_at IS NULL)
  OR (OLD.deleted_at IS NULL AND OLD.ending <> 'streaming')
  <> (NEW.deleted_at IS NULL AND NEW.ending <> 'streaming')
  OR (
    NEW.deleted_at IS NULL AND NEW.ending <> 'streaming'
    AND (NEW.content <> OLD.content OR NEW.earlier_rounds <> OLD.earlier_rounds)
  )
BEGIN
  UPDATE chatapp_conversationsums
  SET
    replies = replies
      + (NEW.role = 'assistant' AND NEW.deleted_at IS NULL)
      - (OLD.role = 'assistant' AND OLD.deleted_at IS NULL),
    cost = cost + (
      (NEW.role = 'assistant' AND NEW.deleted_at IS NULL)
      - (OLD.role = 'assistant' AND OLD.deleted_at IS NULL)
    ) * coalesce((SELECT cost FROM chatapp_usage WHERE message_id = NEW.id), 0),
    characters = characters + (NEW.deleted_at IS NULL AND NEW.ending <> 'streaming') * (
      SELECT length(NEW.content) + coalesce(sum(length(json_extract(value, '$.content'))), 0)
      FROM json_each(NEW.earlier_rounds)
    ) - (OLD.deleted_at IS NULL AND OLD.ending <> 'streaming') * (
      SELECT length(OLD.content) + coalesce(sum(length(json_extract(value, '$.content'))), 0)
      FROM json_each(OLD.earlier_rounds)
    )
  WHERE conversation_id = NEW.conversation_id;
END;

CREATE TRIGGER chatapp_sums_message_delete
AFTER DELETE ON chatapp_message
WHEN OLD.deleted_at IS NULL
BEGIN
  UPDATE chatapp_conversationsums
  SET
    replies = replies - (OLD.role = 'assistant'),
    cost = cost - (OLD.role = 'assistant')
      * coalesce((SELECT cost FROM chatapp_usage WHERE message_id = OLD.id), 0),
    characters = characters - (OLD.ending <> 'streaming') * (
      SELECT length(OLD.content) + coalesce(sum(length(json_extract(value, '$.content'))), 0)
      FROM json_each(OLD.earlier_rounds)
    )
  WHERE conversation_id = OLD.conversation_id;
END;

-- Costs: the message of a title's usage is the conversation; a summary's usage names it.

CREATE TRIGGER chatapp_sums_usage_insert
AFTER INSERT ON chatapp_usage
WHEN NEW.cost <> 0
BEGIN
  UPDATE chatapp_conversationsums
  SET cost = cost + NEW.cost
  WHERE conversation_id = CASE NEW.kind
    WHEN 'title' THEN NEW.message_id
    WHEN 'recap' THEN NEW.conversation
    ELSE (
      SELECT conversation_id
      FROM chatapp_message
      WHERE id = NEW.message_id AND role = 'assistant' AND deleted_at IS NULL
    )
  END;
END;

CREATE TRIGGER chatapp_sums_usage_update
AFTER UPDATE OF cost ON chatapp_usage
WHEN coalesce(NEW.cost, 0) <> coalesce(OLD.cost, 0)
BEGIN
  UPDATE chatapp_conversationsums
  SET cost = cost + coalesce(NEW.cost, 0) - coalesce(OLD.cost, 0)
  WHERE conversation_id = CASE NEW.kind
    WHEN 'title' THEN NEW.message_id
    WHEN 'recap' THEN NEW.conversation
    ELSE (
      SELECT conversation_id
      FROM chatapp_message
      WHERE id = NEW.message_id AND role = 'assistant' AND deleted_at IS NULL
    )
  END;
END;

CREATE TRIGGER chatapp_sums_usage_delete
AFTER DELETE ON chatapp_usage
WHEN OLD.cost <> 0
BEGIN
  UPDATE chatapp_conversationsums
  SET cost = cost - OLD.cost
  WHERE conversation_id = CASE OLD.kind
    WHEN 'title' THEN OLD.message_id
    WHEN 'recap' THEN OLD.conversation
    ELSE (
      SELECT conversation_id
      FROM chatapp_message
      WHERE id = OLD.message_id AND role = 'assistant' AND deleted_at IS NULL
    )
  END;
END;

-- Conversations

CREATE TRIGGER chatapp_facets_conversation_insert
AFTER INSERT ON chatapp_conversation
BEGIN
  INSERT INTO chatapp_conversationsums
    (conversation_id, used_on, replies, cost, characters, is_whole)
  VALUES (NEW.id, date(NEW.updated_at), 0, 0, 0, true)
  ON CONFLICT DO NOTHING;
END;

CREATE TRIGGER chatapp_facets_conversation_update
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

CREATE TRIGGER chatapp_facets_conversation_delete
AFTER DELETE ON chatapp_conversation
BEGIN
  DELETE FROM chatapp_conversationsums WHERE conversation_id = OLD.id;
  DELETE FROM chatapp_conversationfact WHERE conversation_id = OLD.id;
END;
