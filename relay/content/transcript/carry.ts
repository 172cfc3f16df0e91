/** A line that is longer than a message: what is bold, quoted or code at a cut is closed there and opened again. Pure. */

/** Bold, underlined, struck out, hidden and code, all open at once. */
export const MAX_CLOSING_UNITS = 10;

interface Span {
  mark: string;
  /** Where its opening mark begins, and its closing one. */
  from: number;
  to: number;
}

export class CarriedLine {
  readonly #quote: string;
  /** By their mark: those of one mark do not overlap, and stand in order. */
  readonly #spans: readonly (readonly Span[])[];

  constructor(line: string) {
    this.#quote = /^ {0,3}> /.test(line) ? "> " : "";
    this.#spans = spansOf(line);
  }

  /** Room that a cut may take. */
  get reserved(): number {
    return this.#spans.length > 0 ? MAX_CLOSING_UNITS : 0;
  }

  /** A place near `at` that is not inside of a mark, nor before one that closes. */
  placeNear(at: number): number {
    const near = this.#begunBefore(at);
    const opened = near.find(({ from, mark }) => at <= from + mark.length);
    if (opened) return opened.from;
    const closed = near.find(({ to, mark }) => to <= at && at < to + mark.length);
    return closed ? closed.to + closed.mark.length : at;
  }

  /** Stands behind what comes before `at`. */
  closing(at: number): string {
    return this.#openAt(at)
      .reverse()
      .map(({ mark }) => mark)
      .join("");
  }

  /** Stands before what comes from `at` on. */
  opening(at: number): string {
    const marks = this.#openAt(at).map(({ mark }) => mark);
    return this.#quote + marks.join("");
  }

  #openAt(at: number): Span[] {
    return this.#begunBefore(at)
      .filter(({ to }) => at <= to)
      .sort((a, b) => a.from - b.from);
  }

  /** Of each mark the last span that begins before `at`. */
  #begunBefore(at: number): Span[] {
    return this.#spans.flatMap((spans) => {
      let [low, high] = [0, spans.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if ((spans[middle]?.from ?? 0) < at) low = middle + 1;
        else high = middle;
      }
      return spans[low - 1] ?? [];
    });
  }
}

/** Marks that close within the line; one that is never closed is text. */
function spansOf(line: string): Span[][] {
  const tokens: { mark: string; from: number }[] = [];
  for (const { 0: mark, index } of line.matchAll(/(?:\\[\s\S])+|`+|\*\*|__|~~|\|\|/g))
    if (!mark.startsWith("\\")) tokens.push({ mark, from: index });
  // The next run of as many backticks, for each run.
  const next = new Map<number, number>();
  const seen = new Map<number, number>();
  for (let i = tokens.length - 1; i >= 0; i--) {
    const mark = tokens[i]?.mark ?? "";
    if (!mark.startsWith("`")) continue;
    const later = seen.get(mark.length);
    if (later !== undefined) next.set(i, later);
    seen.set(mark.length, i);
  }
  const spans = new Map<string, Span[]>();
  const add = (span: Span) => {
    const known = spans.get(span.mark);
    if (known) known.push(span);
    else spans.set(span.mark, [span]);
  };
  const open = new Map<string, number>();
  for (let i = 0; i < tokens.length; i++) {
    const { mark = "", from = 0 } = tokens[i] ?? {};
    const end = next.get(i);
    if (end !== undefined) {
      // Discord knows one and two.
      if (mark.length <= 2) add({ mark, from, to: tokens[end]?.from ?? 0 });
      i = end;
    } else if (!mark.startsWith("`")) {
      const opened = open.get(mark);
      if (opened === undefined) open.set(mark, from);
      else {
        add({ mark, from: opened, to: from });
        open.delete(mark);
      }
    }
  }
  return [...spans.values()];
}
