/** A long text that comes in pieces. */

/** In bytes: no piece is asked for in more. */
const MAX_PIECE = 1024 * 1024;

/** @param maxBytes about so much of it is read, in whole characters */
export async function readPieces(
  read: (query: { since: number; limit: number }) => Promise<{ text: string; offset: number; end: number }>,
  maxBytes: number,
): Promise<string> {
  let text = "";
  for (let since = 0; since < maxBytes; ) {
    const reply = await read({ since, limit: Math.min(maxBytes - since, MAX_PIECE) });
    text += reply.text;
    if (reply.offset >= reply.end || reply.offset === since) break;
    since = reply.offset;
  }
  return text;
}
