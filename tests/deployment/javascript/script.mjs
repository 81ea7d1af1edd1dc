// Uses the API as the README of the official client does, and prints what it got as JSON.
import OpenAI from "openai";

const [baseURL, apiKey, model] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
const asked = { model, messages: [{ role: "user", content: "Hello" }] };

const models = (await client.models.list()).data.map(({ id }) => id);
const whole = await client.chat.completions.create(asked);
const usage = { include_usage: true };
const parts = [];
let tokens;
for await (const chunk of await client.chat.completions.create({ ...asked, stream: true, stream_options: usage })) {
  parts.push(chunk.choices[0]?.delta.content ?? "");
  tokens = chunk.usage?.total_tokens ?? tokens;
}
const cut = await client.chat.completions.create({ ...asked, stream: true });
let error = "";
try {
  for await (const _ of cut);
} catch (problem) {
  error = problem.message;
}
const wrong = new OpenAI({ baseURL, apiKey: "chatapp_wrong", maxRetries: 0 });
const status = await wrong.models.list().then(() => 200, (problem) => problem.status);
const answer = whole.choices[0].message.content;
console.log(JSON.stringify({ models, answer, streamed: parts.join(""), tokens, error, status }));
