-- The facts of each conversation, some more than once.
SELECT reply.conversation_id, 'model ' || reply.model AS fact
FROM chatapp_message AS reply
WHERE reply.role = 'assistant' AND reply.model <> ''
UNION ALL
SELECT reply.conversation_id, 'upstream ' || reply.upstream_id
FROM chatapp_message AS reply
WHERE reply.role = 'assistant' AND reply.upstream_id IS NOT NULL
UNION ALL
SELECT reply.conversation_id, 'ending ' || reply.ending
FROM chatapp_message AS reply
WHERE reply.role = 'assistant' AND reply.ending NOT IN ('', 'streaming', 'complete')
UNION ALL
SELECT reply.conversation_id, 'tool ' || substr(json_extract(run.value, '$.name'), 1, 200)
FROM chatapp_message AS reply
CROSS JOIN json_each(reply.earlier_rounds) AS round
CROSS JOIN json_each(round.value, '$.tool_runs') AS run
WHERE reply.role = 'assistant' AND json_extract(run.value, '$.name') <> ''
UNION ALL
SELECT reply.conversation_id, 'tool ' || substr(json_extract(run.value, '$.name'), 1, 200)
FROM chatapp_message AS reply
CROSS JOIN json_each(reply.tool_runs) AS run
WHERE reply.role = 'assistant' AND json_extract(run.value, '$.name') <> ''
UNION ALL
SELECT reply.conversation_id, 'flagged'
FROM chatapp_message AS reply
WHERE reply.role = 'assistant' AND reply.is_flagged
UNION ALL
SELECT reply.conversation_id, 'flagged moderation'
FROM chatapp_message AS reply
WHERE reply.role = 'assistant' AND reply.is_flagged
UNION ALL
SELECT reply.conversation_id, 'category ' || substr(category.value, 1, 200)
FROM chatapp_message AS reply
CROSS JOIN json_each(reply.moderation) AS side
CROSS JOIN json_each(side.value, '$.results') AS result
CROSS JOIN json_each(result.value, '$.categories') AS category
WHERE reply.role = 'assistant' AND reply.is_flagged AND category.value <> ''
UNION ALL
SELECT reply.conversation_id, 'feedback'
FROM chatapp_message AS reply
JOIN chatapp_feedback AS rated ON rated.message_id = reply.id
WHERE reply.role = 'assistant'
UNION ALL
SELECT reply.conversation_id, 'feedback ' || rated.rating
FROM chatapp_message AS reply
JOIN chatapp_feedback AS rated ON rated.message_id = reply.id
WHERE reply.role = 'assistant'
UNION ALL
SELECT reply.conversation_id, 'flagged'
FROM chatapp_message AS reply
JOIN chatapp_feedback AS rated ON rated.message_id = reply.id
WHERE reply.role = 'assistant' AND rated.rating = 'down'
UNION ALL
SELECT conversation_id, 'flagged'
FROM chatapp_rulefinding
UNION ALL
SELECT conversation_id, 'flagged rule'
FROM chatapp_rulefinding
UNION ALL
SELECT conversation_id, 'flagged rule-' || rule_id
FROM chatapp_rulefinding
