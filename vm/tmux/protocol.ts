/**
 * tmux's control-mode protocol, without I/O: commands are quoted into lines, bytes are parsed into replies and
 * notifications.
 */

/**
 * One argument of a tmux command, every byte as octal inside double quotes: tmux's parser gives back exactly
 * these bytes (1..255), and no `;`, `#`, `$` or newline in them means anything.
 * @throws Error for a NUL, which no argument can hold.
 */
export function quoteArg(value: string): string {
  if (/^[A-Za-z0-9_\-=:%@/.,]+$/.test(value)) return value;
  let quoted = '"';
  for (const byte of Buffer.from(value, "utf8")) {
    if (byte === 0) throw new Error("an argument of a tmux command can't hold a NUL");
    quoted += `\\${byte.toString(8).padStart(3, "0")}`;
  }
  return `${quoted}"`;
}

/** A command line of one command, its arguments quoted. */
export function quoteCommand(args: readonly string[]): string {
  return args.map(quoteArg).join(" ");
}

/** What came from tmux: the reply to one command, or a notification such as `%sessions-changed`. */
export type ControlEvent =
  | { kind: "reply"; isError: boolean; lines: string[] }
  | { kind: "notification"; line: string };

const GUARD = /^%(begin|end|error) (\d+ \d+) (\d+)$/;

/**
 * Parses the stream of a control client. Only replies to this client's own commands come out (bit 0 of the
 * flags): the attach itself answers with flags 0.
 *
 * A reply ends at `%end` or `%error` with the time and number that it began with. A program can print such a line,
 * and guess both. So a reply that holds what a program chose (a captured screen) is sealed: the client asks for
 * one more reply after it, whose only line, the seal, nobody else can know. A sealed reply ends at the last
 * line before the seal that could end it; all earlier ones are text.
 */
export class ControlParser {
  readonly #findSeal: () => string | undefined;
  #rest: Buffer = Buffer.alloc(0);
  #block: { id: string; isOurs: boolean; lines: string[]; seal: string | undefined } | undefined;

  /**
   * @param findSeal is asked when a reply to this client begins; undefined where that reply is not sealed. All
   *   earlier events have been taken by then.
   */
  constructor(findSeal: () => string | undefined = () => undefined) {
    this.#findSeal = findSeal;
  }

  /** All events must be taken before the next call. */
  *push(chunk: Buffer): Generator<ControlEvent, void, undefined> {
    const data = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk;
    let start = 0;
    for (let end = data.indexOf(10); end !== -1; end = data.indexOf(10, start)) {
      yield* this.#line(data.toString("utf8", start, end));
      start = end + 1;
    }
    this.#rest = data.subarray(start);
  }

  *#line(line: string): Generator<ControlEvent, void, undefined> {
    const block = this.#block;
    const [, word, id, flags] = GUARD.exec(line) ?? [];
    if (!block) {
      if (word === "begin" && id !== undefined) {
        const isOurs = (Number(flags) & 1) === 1;
        this.#block = { id, isOurs, lines: [], seal: isOurs ? this.#findSeal() : undefined };
      } else if (line !== "") {
        yield { kind: "notification", line };
      }
    } else if (block.seal !== undefined) {
      block.lines.push(line);
      if (line === block.seal) yield* this.#unseal(block);
    } else if ((word === "end" || word === "error") && id === block.id) {
      this.#block = undefined;
      if (block.isOurs) yield { kind: "reply", isError: word === "error", lines: block.lines };
    } else {
      block.lines.push(line);
    }
  }

  /** What follows the reply's true end is read as usual: notifications, and the reply that is the seal. */
  *#unseal({ id, lines }: { id: string; lines: string[] }): Generator<ControlEvent, void, undefined> {
    const end = lines.findLastIndex((line) => GUARD.exec(line)?.[2] === id);
    this.#block = undefined;
    const isError = lines[end]?.startsWith("%error") ?? true;
    yield { kind: "reply", isError, lines: lines.slice(0, end) };
    for (const line of lines.slice(end + 1)) yield* this.#line(line);
  }
}

/** Bytes for `send-keys -H`: above some 9,000 of them tmux's parser gives up ("memory exhausted"). */
export function hexKeys(bytes: Buffer): string {
  return [...bytes].map((byte) => byte.toString(16)).join(" ");
}

/** Oldest tmux that is known to work. */
export const OLDEST_TMUX = "3.2a";

/** `tmux 3.3a` → [3, 3, 1]; undefined for a development build, which is taken as new enough. */
export function parseTmuxVersion(text: string): [major: number, minor: number, patch: number] | undefined {
  const match = /(?<!\d)(\d+)\.(\d+)([a-z]?)/.exec(text);
  if (!match) return undefined;
  const [, major, minor, letter = ""] = match;
  return [Number(major), Number(minor), letter === "" ? 0 : letter.charCodeAt(0) - 96];
}

/** Whether `tmux -V` names this version or a newer one. */
export function isTmuxAtLeast(text: string, least: string): boolean {
  const version = parseTmuxVersion(text);
  const oldest = parseTmuxVersion(least);
  if (!version || !oldest) return true;
  for (const [i, part] of version.entries()) {
    const leastPart = oldest[i] ?? 0;
    if (part !== leastPart) return part > leastPart;
  }
  return true;
}
