-- What the sums of each conversation should be.
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
    SELECT coalesce(sum(char_length(said.content) + (
      SELECT coalesce(sum(char_length(round.text #>> '{}')), 0)
      FROM jsonb_path_query(said.earlier_rounds, '$[*].content') AS round(text)
    )), 0)
    FROM chatapp_message AS said
    WHERE said.conversation_id = conversation.id
      AND said.deleted_at IS NULL AND said.ending <> 'streaming'
  ) AS characters
FROM chatapp_conversation AS conversation
