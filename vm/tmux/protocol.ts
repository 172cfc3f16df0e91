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

/**
 * Parses the stream of a control client. Only replies to this client's own commands come out (bit 0 of the
 * flags): the attach itself answers with flags 0. A body may hold any line, also one that looks like a
 * notification: it ends only at `%end` or `%error` with the time and number it began with.
 */
export class ControlParser {
  #rest: Buffer = Buffer.alloc(0);
  #block: { id: string; isOurs: boolean; lines: string[] } | undefined;

  push(chunk: Buffer): ControlEvent[] {
    const events: ControlEvent[] = [];
    const data = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk;
    let start = 0;
    for (let end = data.indexOf(10); end !== -1; end = data.indexOf(10, start)) {
      this.#line(data.toString("utf8", start, end), events);
      start = end + 1;
    }
    this.#rest = data.subarray(start);
    return events;
  }

  #line(line: string, events: ControlEvent[]): void {
    const guard = /^%(begin|end|error) (\d+ \d+) (\d+)$/.exec(line);
    const [, word, id, flags] = guard ?? [];
    if (!this.#block) {
      if (word === "begin" && id !== undefined) {
        this.#block = { id, isOurs: (Number(flags) & 1) === 1, lines: [] };
      } else if (line !== "") {
        events.push({ kind: "notification", line });
      }
      return;
    }
    if ((word === "end" || word === "error") && id === this.#block.id) {
      const { isOurs, lines } = this.#block;
      this.#block = undefined;
      if (isOurs) events.push({ kind: "reply", isError: word === "error", lines });
      return;
    }
    this.#block.lines.push(line);
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
  const match = /(\d+)\.(\d+)([a-z]?)/.exec(text);
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
