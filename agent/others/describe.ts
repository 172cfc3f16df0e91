/**
 * What an agent is told of the others that work in its directory. Pure. Titles and steps are others' words: cut and
 * cleaned.
 */
import { shownPath } from "../../shared/agent/shown-path.ts";
import { cleanLine } from "../../shared/clean-text.ts";

export interface AtWork {
  threadId: string;
  /** What people call the thread. */
  number?: number | undefined;
  title: string;
  /** In one word, as people see it: running, waiting, queued, … */
  status: string;
  /** The calls of the turn that have begun. */
  step: number;
  /** What it does this moment. */
  doing: string;
  /** Files that it writes now; absolute. */
  holds: string[];
}

/** All of it together. */
const MAX_BYTES = 2_000;
const MAX_TITLE = 60;
const MAX_DOING = 80;
const MAX_STATUS = 20;
const MAX_PATH = 100;
const MAX_HOLDS = 3;
const HEAD = "other agents that work in this directory now, for your information";
const NOBODY = "[threadmux: no other agent works in this directory any more]";

/**
 * @param dir of the agent that is told
 * @param self that agent; its step is left out, because it would make news of every call
 * @returns empty if nobody else works
 */
export function describeOthers(others: readonly AtWork[], dir: string, self: Named): string {
  if (others.length === 0) return "";
  const lines = [...others].sort(byNumber).map((other) => describe(other, dir));
  const shown: string[] = [`[threadmux: you are ${nameOf(self)}; ${HEAD}]`];
  for (const [i, line] of lines.entries()) {
    const rest = `and ${lines.length - i} more`;
    if (Buffer.byteLength([...shown, line, rest].join("\n")) > MAX_BYTES) return [...shown, rest].join("\n");
    shown.push(line);
  }
  return shown.join("\n");
}

/** What the agent is told of it, if that differs from what it was told last. */
export function newsOfOthers(now: string, told: string): string | undefined {
  if (now === told) return undefined;
  return now === "" ? NOBODY : now;
}

type Named = Pick<AtWork, "number" | "threadId" | "title">;

function nameOf({ number, threadId, title }: Named): string {
  const name = number === undefined ? cut(threadId, MAX_TITLE) : `#${number}`;
  return [name, cut(title, MAX_TITLE)].filter((part) => part !== "").join(" ");
}

function describe({ status, step, doing, holds, ...named }: AtWork, dir: string): string {
  const paths = holds.slice(0, MAX_HOLDS).map((path) => cut(shownPath(path, dir), MAX_PATH));
  const more = holds.length > MAX_HOLDS ? ` and ${holds.length - MAX_HOLDS} more` : "";
  const held = paths.length === 0 ? "" : `, holds ${paths.join(", ")}${more}`;
  return `${nameOf(named)}: ${cut(status, MAX_STATUS)}, step ${step}, currently: ${cut(doing, MAX_DOING)}${held}`;
}

/** One line without anything hidden, and without what could pass for a line of ours. */
export function cut(text: string, max: number): string {
  const clean = cleanLine(text).replace(/[[\]]/g, " ").replace(/\s+/g, " ").trim();
  const characters = [...clean];
  return characters.length > max ? `${characters.slice(0, max - 1).join("")}…` : clean;
}

function byNumber(a: AtWork, b: AtWork): number {
  return (a.number ?? 0) - (b.number ?? 0) || (a.threadId < b.threadId ? -1 : 1);
}
