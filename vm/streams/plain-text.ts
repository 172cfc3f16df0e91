/** A log without its escape sequences and with the addresses of its links, as a stream. Nothing that a program prints makes it slow or large. */
import { StringDecoder } from "node:string_decoder";
import stripAnsi from "strip-ansi";
import { LinkAddresses } from "./link-addresses.ts";

/** Longer than any sensible escape sequence: what is still not over after so much is text. */
const MAX_SEQUENCE_CHARACTERS = 8_192;
/** Every part stops where another sequence may begin: no character is looked at from more than one start. */
const UNFINISHED =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences start with a control character
  /(?:[\x1b\x9b]\[?[ -?]*|(?:\x1b\]|\x9d)[^\x07\x18\x1a\x1b\x80-\x9f]*\x1b?|(?:\x1b[PX^_k]|[\x90\x98\x9e\x9f])[^\x18\x1a\x1b\x80-\x9f]*\x1b?)$/;
/** Only from a run's start: tried from each of its characters, a long one that no `\n` follows would take hours. */
const LINE_END = /(?<!\r)\r+\n/g;
const RETURNS_AT_ONCE = 64 * 1024;

/** Bytes of a terminal in, text out: no escape sequences, lines ended by `\n`, however the bytes were cut. */
export async function* plainText(chunks: AsyncIterable<Buffer>): AsyncGenerator<string, void, undefined> {
  const decoder = new StringDecoder("utf8");
  const links = new LinkAddresses();
  let rest = "";
  /** Carriage returns that may belong to a line's end: only counted, since a log may hold nothing else. */
  let returns = 0;
  const clean = function* (raw: string) {
    // Without an escape of ours it leaves 8-bit strings alone where there is none: that would depend on the cut.
    const text = stripAnsi(`\x1b[m${raw}`);
    let start = 0;
    while (text[start] === "\r") start += 1;
    let end = text.length;
    while (end > start && text[end - 1] === "\r") end -= 1;
    if (end > start) {
      if (text[start] !== "\n") yield* repeatReturns(returns + start);
      yield text.slice(start, end).replace(LINE_END, "\n");
      returns = text.length - end;
    } else {
      returns += text.length;
    }
  };
  for await (const chunk of chunks) {
    const text = rest + decoder.write(chunk);
    const unfinished = UNFINISHED.exec(text.slice(-MAX_SEQUENCE_CHARACTERS))?.[0] ?? "";
    const cut = text.length - (unfinished.length < MAX_SEQUENCE_CHARACTERS ? unfinished.length : 0);
    rest = text.slice(cut);
    yield* clean(links.push(text.slice(0, cut)));
  }
  yield* clean(links.push(rest + decoder.end()) + links.end());
  yield* repeatReturns(returns);
}

function* repeatReturns(count: number): Generator<string, void, undefined> {
  for (let left = count; left > 0; left -= RETURNS_AT_ONCE) {
    yield "\r".repeat(Math.min(left, RETURNS_AT_ONCE));
  }
}
