/** A conversation's lines, made the same for every run: what is random, timed or of this machine gets a fixed value. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Line } from "./program.ts";

/** Lists of what the program brings along: their contents are not ours to compare. */
const CATALOGUES = new Set([
  "agents",
  "available_output_styles",
  "categories",
  "commands",
  "gridRows",
  "mcpTools",
  "memoryFiles",
  "models",
  "plugins",
  "skills",
  "slash_commands",
  "systemPromptSections",
  "systemTools",
  "terminal_slash_commands",
  "tools",
]);
const ID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|(?:msg|toolu)_[\w-]+/g;
const TIME = /\d{4}-\d\d-\d\dT[\d:.]+Z/g;
const MAX_TEXT = 300;

/** `paths` are replaced by their names, longest first. */
export function normalise(lines: readonly Line[], paths: Record<string, string>): Line[] {
  const ids = new Map<string, string>();
  const places = Object.entries(paths).sort(([, a], [, b]) => b.length - a.length);

  function text(value: string): string {
    let result = value;
    for (const [name, path] of places) {
      result = result.replaceAll(path, `/${name}`).replaceAll(path.replace(/[^a-zA-Z0-9]/g, "-"), `-${name}`);
    }
    result = result.replace(TIME, "2026-01-01T00:00:00.000Z").replace(ID, (id) => {
      const known = ids.get(id) ?? `id-${ids.size + 1}`;
      ids.set(id, known);
      return known;
    });
    return result.length > MAX_TEXT ? `${result.slice(0, MAX_TEXT)}…` : result;
  }

  function value(key: string, given: unknown): unknown {
    if (typeof given === "string") return text(given);
    // Statuses mean something; all other numbers are measures.
    if (typeof given === "number") return /status|attempt|index$/.test(key) ? given : 0;
    if (Array.isArray(given)) return CATALOGUES.has(key) ? [] : given.map((one) => value("", one));
    if (given === null || typeof given !== "object") return given;
    return Object.fromEntries(Object.entries(given).map(([name, one]) => [text(name), value(name, one)]));
  }

  return lines.map((line) => value("", line) as Line);
}

export function recordingFile(name: string): string {
  return fileURLToPath(new URL(`recordings/${name}.jsonl`, import.meta.url));
}

/** What the real program printed in this conversation. */
export function readRecording(name: string): Line[] {
  const lines = readFileSync(recordingFile(name), "utf8").split("\n").filter(Boolean);
  return lines.map((line) => JSON.parse(line) as Line);
}
