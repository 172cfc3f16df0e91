/** Chooses the lines that are printed: those that hold a text, each below the name of its file. Pure. */
import { plainLine, shownLine } from "./lines.ts";

/** A line, and which of several files it is from. */
export interface LogLine {
  readonly from: string;
  readonly text: string;
}

/** The bounds of what is kept of the last lines, for people who then ask for lines that hold a text. */
const MAX_KEPT_LINES = 2_000;
const MAX_KEPT_UNITS = 512 * 1024;

export class Display {
  readonly #shownAnew: number;
  readonly #kept: LogLine[] = [];
  #keptUnits = 0;
  #grep: string | null;
  /** The file that the last printed line is from. */
  #from = "";

  /** @param shownAnew how many of the last lines are shown again if another text is asked for */
  constructor(grep: string | null, shownAnew: number) {
    this.#grep = grep;
    this.#shownAnew = shownAnew;
  }

  add(lines: readonly LogLine[]): string {
    for (const line of lines) this.#keep(line);
    return this.#print(lines.filter((line) => this.#isWanted(line)));
  }

  /** Shows other lines from now on, and the last of those. */
  setGrep(grep: string | null): string {
    if (grep === this.#grep) return "";
    this.#grep = grep;
    this.#from = "";
    const lines = this.#kept.filter((line) => this.#isWanted(line)).slice(-this.#shownAnew);
    return `${remark(grep === null ? "all lines" : `lines that hold ${JSON.stringify(grep)}`)}${this.#print(lines)}`;
  }

  #keep(line: LogLine): void {
    this.#kept.push(line);
    this.#keptUnits += line.text.length;
    while (this.#kept.length > MAX_KEPT_LINES || this.#keptUnits > MAX_KEPT_UNITS)
      this.#keptUnits -= this.#kept.shift()?.text.length ?? 0;
  }

  #isWanted({ text }: LogLine): boolean {
    return this.#grep === null || plainLine(text).includes(this.#grep);
  }

  #print(lines: readonly LogLine[]): string {
    let printed = "";
    for (const { from, text } of lines) {
      if (from !== this.#from) printed += `==> ${plainLine(from)} <==\n`;
      this.#from = from;
      printed += `${shownLine(text)}\n`;
    }
    return printed;
  }
}

/** A line that the program says itself. */
export function remark(text: string): string {
  return `── ${plainLine(text)} ──\n`;
}
