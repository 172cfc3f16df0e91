/** Where Discord's Markdown is bold, italic, underlined, struck out, hidden or code in a text. Pure; linear time. */

export interface Span {
  mark: string;
  /** Its opening mark begins here, … */
  from: number;
  /** … and its closing one here. */
  to: number;
  /** The span around it. */
  parent: Span | undefined;
}

interface Run {
  mark: string;
  from: number;
  to: number;
  /** A backslash stands before it. */
  isEscaped: boolean;
}

const WORD = /\w/;
const BLANK = /\s/;
/** Discord's names for what the runs of a sign are: two of it, or one. */
const DOUBLES = new Set(["*", "_", "~", "|"]);
const SINGLES = new Set(["*", "_"]);

/** In order of their beginnings. A mark that is never closed is text. */
export function findSpans(text: string): Span[] {
  if (!/[`*_~|]/.test(text)) return [];
  const scan = new Scan(text);
  scan.read(text.length, undefined);
  return scan.spans;
}

/** Links and addresses, in which no mark counts. In order. */
export function findLinks(text: string): { from: number; to: number }[] {
  if (!text.includes("://")) return [];
  const pattern = /\[[^[\]\n]{1,300}\]\(<?https?:\/\/[^\s)>]+>?\)|https?:\/\/[^\s<]+/g;
  return [...text.matchAll(pattern)].map(({ 0: link, index }) => ({ from: index, to: index + link.length }));
}

class Scan {
  readonly spans: Span[] = [];
  readonly #text: string;
  readonly #runs: readonly Run[];
  /** For each run the next one that may close what it opens as two signs, as one, and as code. */
  readonly #pairs: (number | undefined)[] = [];
  readonly #odds: (number | undefined)[] = [];
  readonly #codes: (number | undefined)[] = [];
  readonly #links: readonly { from: number; to: number }[];
  #at = 0;
  #run = 0;
  #link = 0;
  /** The run in which the place that is read ends. */
  #last: Run | undefined;

  constructor(text: string) {
    this.#text = text;
    this.#runs = findRuns(text);
    this.#links = findLinks(text);
    const pairs = new Map<string, number>();
    const odds = new Map<string, number>();
    const codes = new Map<string, number>();
    for (let i = this.#runs.length - 1; i >= 0; i--) {
      const { mark } = this.#runs[i] as Run;
      const sign = mark.charAt(0);
      this.#pairs[i] = pairs.get(sign);
      this.#odds[i] = odds.get(sign);
      this.#codes[i] = codes.get(mark);
      if (mark.length > 1) pairs.set(sign, i);
      if (mark.length % 2 === 1) odds.set(sign, i);
      codes.set(mark, i);
    }
  }

  /** What lies between the place that was reached and `end`. It goes as deep as there are marks, for none holds itself. */
  read(end: number, parent: Span | undefined): void {
    const last = lastBefore(this.#runs, end);
    while (this.#skipTo(end)) {
      this.#last = last;
      const run = this.#runs[this.#run] as Run;
      const at = Math.max(this.#at, run.from);
      const span = this.#spanAt(run, at, end, parent);
      if (!span) {
        this.#at = run.mark.startsWith("`") ? run.to : at + 1;
        continue;
      }
      this.spans.push(span);
      this.#at = at + span.mark.length;
      if (!span.mark.startsWith("`")) this.read(span.to, span);
      this.#at = span.to + span.mark.length;
    }
    this.#at = end;
  }

  /** To the next run that is not over, and stands in no link. */
  #skipTo(end: number): boolean {
    for (; ; this.#run++) {
      const run = this.#runs[this.#run];
      if (!run || Math.max(run.from, this.#at) >= end) return false;
      if (run.to <= this.#at) continue;
      const at = Math.max(run.from, this.#at);
      while ((this.#links[this.#link]?.to ?? Number.POSITIVE_INFINITY) <= at) this.#link += 1;
      const link = this.#links[this.#link];
      if (!link || link.from > at || link.from < this.#at) return true;
      this.#at = Math.min(link.to, end);
      if (this.#at >= end) return false;
      this.#run -= 1; // this one again: it may reach beyond the link
    }
  }

  #spanAt(run: Run, from: number, end: number, parent: Span | undefined): Span | undefined {
    const sign = run.mark.charAt(0);
    const begin = parent ? parent.from + parent.mark.length : 0;
    const to = (mark: string, at: number | undefined) =>
      at !== undefined && at > from + mark.length && at + mark.length <= end
        ? { mark, from, to: at, parent }
        : undefined;
    if (sign === "`") {
      const isOne = from === run.from && run.mark.length <= 2 && !run.isEscaped;
      return isOne ? to(run.mark, this.#runs[this.#codes[this.#run] ?? -1]?.from) : undefined;
    }
    const left = run.to - from;
    const isDouble = left >= 2 && DOUBLES.has(sign);
    const double = isDouble ? to(sign + sign, this.#pairEnd(run, from, end)) : undefined;
    return double ?? (SINGLES.has(sign) ? to(sign, this.#singleEnd(run, from, begin, end)) : undefined);
  }

  /** The run at `index`, up to `end`; the one in which the place ends counts as far as it lies in it. */
  #nextRun(index: number | undefined, sign: string, end: number): { from: number; to: number } | undefined {
    const next = this.#runs[index ?? -1];
    if (next && next.to <= end) return next;
    const last = this.#last;
    return last && last.from > this.#at && last.mark.startsWith(sign)
      ? { from: last.from, to: Math.min(last.to, end) }
      : undefined;
  }

  /** Stars and lines close at the end of a run, the others as soon as two of them stand. */
  #pairEnd(run: Run, from: number, end: number): number | undefined {
    const sign = run.mark.charAt(0);
    const isAtEnd = SINGLES.has(sign);
    if (run.to - from >= 5) return isAtEnd ? run.to - 2 : from + 3;
    const next = this.#nextRun(this.#pairs[this.#run], sign, end);
    if (!next || next.to - next.from < 2) return undefined;
    return isAtEnd ? next.to - 2 : next.from;
  }

  /** One star or line holds pairs of them, but no other single one. */
  #singleEnd(run: Run, from: number, begin: number, end: number): number | undefined {
    const text = this.#text;
    const sign = run.mark.charAt(0);
    const next = this.#nextRun(this.#odds[this.#run], sign, end);
    if (!next || (next.to - next.from) % 2 === 0) return undefined;
    if ((run.to - from) % 2 === 0 || BLANK.test(text.charAt(from + 1))) return undefined;
    if (sign === "_") {
      const isWord = (at: number) => at >= begin && at < end && WORD.test(text.charAt(at));
      const isInWord = isWord(from - 1) || isWord(next.to);
      return isInWord ? undefined : next.to - 1;
    }
    return BLANK.test(text.charAt(next.to - 2)) ? undefined : next.to - 1;
  }
}

function findRuns(text: string): Run[] {
  const runs: Run[] = [];
  let escaped = 0;
  for (const { 0: mark, index } of text.matchAll(/\\[^0-9A-Za-z\s`]|`+|\*+|_+|~~+|\|\|+/g)) {
    const to = index + mark.length;
    if (mark.startsWith("\\")) escaped = to;
    else runs.push({ mark, from: index, to, isEscaped: index > escaped && text[index - 1] === "\\" });
  }
  return runs;
}

/** The last that begins before `at`, of some in order. */
export function lastBefore<T extends { from: number }>(all: readonly T[], at: number): T | undefined {
  let [low, high] = [0, all.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((all[middle]?.from ?? 0) < at) low = middle + 1;
    else high = middle;
  }
  return all[low - 1];
}
