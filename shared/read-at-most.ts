/** Reads what somebody else sends, up to a bound: who sends may never end. */

/**
 * Stops reading once there are more than `maxBytes`. The reader decides what that means for it.
 * @param chunks ended by `return` if they are not read to their end, as `for await` does it
 * @returns undefined if there are more
 * @throws what `chunks` throws
 */
export async function readAtMost(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const kept: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > maxBytes) return undefined;
    kept.push(chunk);
  }
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const chunk of kept) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

/** As {@link readAtMost}, for a text in UTF-8. */
export async function readTextAtMost(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<string | undefined> {
  const bytes = await readAtMost(chunks, maxBytes);
  return bytes && new TextDecoder().decode(bytes);
}

/** The body of an answer of `fetch`, in pieces. Not every browser can read a stream with `for await`. */
export async function* bodyOf({ body }: Pick<Response, "body">): AsyncGenerator<Uint8Array> {
  const reader = body?.getReader();
  if (!reader) return;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel(); // a connection whose answer nobody reads to its end is closed
  }
}
