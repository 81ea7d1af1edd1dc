# ruff: noqa: E501  one paragraph per line, as models send it
"""The demo's long answer: about 1,600 words with most Markdown elements, to scroll and to stop."""

ARTICLE = '''# How an answer reaches your screen

You asked for a long answer, so here is one about something you are looking at: how words written by a model, one at a time, on a machine far away, become a page that you can read while it is still being written. It is a short journey, half a second or less from end to end, but it crosses more borders than one might think.

There is no need to read to the end. A long answer is a good one to **stop halfway**: press Escape, look at what was kept, and let it continue.

## 1. Why words arrive one by one

A language model does not write a text and then hand it over. It works out which small piece of text should come next, adds that piece, and begins again with everything written so far. The pieces are called *tokens*. Some are whole words, some are parts of words, some are a comma.

> A token is to a model what a brick is to a bricklayer: not what the house is about, but the only thing that is ever put down.

Nothing forces anyone to show the bricks. The server could wait until the house is finished. But a reply of five hundred tokens at fifty tokens a second takes ten seconds, and ten seconds of looking at nothing feel very long. People read at perhaps five words a second, so a stream at that pace is never far ahead of the eye. The wait disappears into the reading.

There is a second reason, and it matters more to the person who pays. If you can see an answer going wrong after one sentence, you can stop it after one sentence.

## 2. The envelope: server-sent events

The tokens travel over plain HTTP. The server answers a request, but instead of sending one body and being done, it keeps the response open and sends a little more whenever it has something to say. The format is called *server-sent events*, and it is pleasantly simple: lines of text, with an empty line after each event.

```text
data: {"choices":[{"index":0,"delta":{"content":"Hello"}}]}

data: {"choices":[{"index":0,"delta":{"content":" there"}}]}

data: [DONE]
```

A program that reads this has to be careful about one thing. The network knows nothing of lines. It delivers bytes in whatever portions suit it: half an event now, two and a half a moment later. So a decoder keeps what is not yet complete and gives out only what is.

```python
class LineDecoder:
    """Bytes in, whole lines out, however the bytes are cut."""

    def __init__(self) -> None:
        self._rest = b""

    def receive_data(self, data: bytes) -> list[str]:
        *lines, self._rest = (self._rest + data).split(b"\\n")
        return [line.decode() for line in lines]
```

Notice that the bytes become text only once a line is whole. A letter such as *é* takes two bytes, an emoji four, and a portion may well end between them. Decoding each portion on its own works in every test and fails on the first customer from Zürich.

### What else is in the envelope

Besides words, a stream can carry:

1. **Reasoning**: what a model notes down for itself before it answers. It belongs in a region of its own, so that nobody mistakes a first idea for the conclusion.
2. **A finish reason**: why the model stopped. It said all it wanted, it reached a limit, or a filter stepped in.
3. **Usage**: how many tokens went in and came out, and so what the reply cost.
4. **An error**: things can go wrong after the first word as well as before.

And it can carry nothing at all, abruptly, because a cable was pulled. A careful reader of streams treats *"the connection ended"* and *"the answer ended"* as two different sentences.

## 3. From text to page

What the model writes is Markdown: plain text with a few marks for headings, lists and emphasis. Turning finished Markdown into HTML is a solved problem. Turning *unfinished* Markdown into HTML, fifty times a second, is more interesting.

Think of a sentence with one bold word in the middle. For a moment the text ends after the opening asterisks, and a naive page shows two bare stars that vanish again a blink later. The cure is to close what is open, for the eye only:

| Arrived so far | Shown to the reader |
|---|---|
| `This is **ver` | This is **ver** |
| `This is **very** good` | This is **very** good |
| `A list:` and `- one` | a list with one entry |
| three backticks and some code | a code block, still open |

The other trick is to leave finished things alone. Once a paragraph is followed by another, it will not change any more. It can be sent once and forgotten. Only the last block is still wet paint. Without this, each new word would send the whole text again, and the work for an answer would grow with the *square* of its length.

How much is that? Let a reply have $n$ tokens. Sending everything each time sends

$$1 + 2 + 3 + \\dots + n = \\frac{n(n+1)}{2}$$

pieces. For $n = 4000$ that is eight million, where four thousand would do.

### A word about safety

A model repeats what it has read, and what it has read may have been written by somebody with bad intentions. So its HTML is never trusted. The text is rendered, and then everything that is not on a short list of harmless tags is taken out. It is one function, used everywhere, since a rule that is applied in three places is sooner or later applied in two.

## 4. The last metre

Between server and browser there is a WebSocket: a connection that stays open in both directions. Your question goes up; small pieces of HTML come down, each with a note of where it belongs. In the browser, very little remains to be done:

```javascript
socket.addEventListener("message", ({ data }) => {
  const template = document.createElement("template");
  template.innerHTML = data;
  for (const piece of template.content.children) {
    document.getElementById(piece.id)?.replaceWith(piece);
  }
});
```

The real thing does more, of course. It scrolls along, but only if you were at the end already, since nothing is ruder than a page that pulls the text from under your eyes. It connects again when a train leaves a tunnel. It tells a screen reader about the answer without reading out every syllable twice.

## 5. Going away

Suppose you close the tab. The browser says goodbye, the server notices, and now somebody has to tell the model. If nobody does, it goes on writing to the end, for no reader, at full price.

This is a chain, and it is as strong as its weakest link:

- the **browser** closes its socket;
  - or does not, because the battery is empty, and then only silence tells;
- the **app** cancels the task that was reading the stream;
- the **connection** to the provider is closed by that task, on its way out;
- the **provider** sees this and lets go of the model.

In Python, the part in the middle comes down to one habit: the code that opens something closes it, whatever happens in between.

```python
async with client.stream("POST", url, json=question) as response:
    async for data in response.aiter_bytes():
        for event in decoder.receive_data(data):
            reply.add(event)
# here the connection is closed: the end, an error and a cancellation all pass this line
```

A command line can show the same thing. Start a stream, interrupt it with Ctrl+C, and look at the server's log:

```sh
curl --no-buffer "$OPENAI_BASE_URL/chat/completions" \\
  --header "Authorization: Bearer $OPENAI_API_KEY" \\
  --json '{"model": "demo-reasoner", "stream": true,
           "messages": [{"role": "user", "content": "a long answer"}]}'
```

## 6. Keeping it

Finally, what was said should still be there tomorrow. Saving after each word would wear out the database for little gain; saving only at the end would lose everything if the lights went out in the middle. So the question is stored *before* it is sent anywhere, the answer about once a second while it grows, and once more when it ends, whatever the ending was.

```sql
UPDATE message
SET answer = :answer, ending = :ending
WHERE id = :id AND ending = 'streaming';
```

The last line is a small insurance: a reply ends once. A second writer finds nothing left to change.

### Counting honestly

With the answer goes its price. When a stream runs to its end, the provider says how many tokens it counted, and that is that. When it was stopped, nobody says anything, and the app has to estimate. An estimate is fine as long as it is called one. The worst figure in any report is the confident zero that means *"we do not know"*.

## 7. How fast is fast enough?

A display draws sixty pictures a second, so each one stands for some sixteen thousandths of a second. Two changes within the same picture might as well be one. This gives a natural rhythm: pass on what has arrived at once if it has been quiet, and otherwise with the next picture.

Here is that rule, written in Go for a change:

```go
const frame = 16 * time.Millisecond

func wait(lastFlush, now time.Time) time.Duration {
	quiet := now.Sub(lastFlush)
	if quiet >= frame {
		return 0
	}
	return frame - quiet
}
```

And when two hundred people ask at the same time? Then the kind thing is to make the rhythm a little slower for everybody. Words that arrive in pairs are hardly noticed. Words that arrive late are.

## 8. In short

- A model writes piece by piece, and a stream lets you read along.
- Bytes are cut anywhere, so keep what is incomplete.
- Finished paragraphs are finished; only the last one changes.
- Everything from outside is cleaned before it is shown.
- Closing a tab should end the work behind it.
- What was said is kept, and what it cost is stated honestly.

Most of this goes unnoticed when it works, which is how it should be.

> The best plumbing is the kind that nobody talks about at dinner.

If you have read this far, you have also tested scrolling, headings, quotations, nested lists, a table, mathematics, and code in several languages. Try `everything` for all of it on one page, or `fail` to see how the app behaves when one of the links in the chain breaks.'''
