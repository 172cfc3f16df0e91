/** A log without its escape sequences, as a stream with bounded memory. */
import { Transform } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import stripAnsi from "strip-ansi";

/** Longer than any sensible escape sequence: what is still not over after so much is text. */
const MAX_SEQUENCE_CHARACTERS = 8_192;
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences start with a control character
const UNFINISHED = /[\x1b\x9b](?:\[?[0-9;:?<=>!"' ]*|[\]PX^_][^\x07\x1b]*\x1b?|[()#%*+ -/]*)$/;

/** Bytes of a terminal in, plain UTF-8 text out: no escape sequences, lines ended by `\n`. */
export function createPlainText(): Transform {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  const clean = (text: string) => stripAnsi(text).replace(/\r+\n/g, "\n");
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const text = rest + decoder.write(chunk);
      const unfinished = UNFINISHED.exec(text)?.[0] ?? "";
      // A carriage return may be the first half of a line's end.
      const held =
        unfinished !== "" && unfinished.length < MAX_SEQUENCE_CHARACTERS
          ? unfinished.length
          : /\r*$/.exec(text)?.[0].length;
      const cut = text.length - (held ?? 0);
      rest = text.slice(cut);
      done(null, clean(text.slice(0, cut)));
    },
    flush(done) {
      done(null, clean(rest + decoder.end()));
    },
  });
}
