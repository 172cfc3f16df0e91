/** Reads in the outputs of earlier processes of our program how far their work was. */
import { existsSync, readdirSync } from "node:fs";
import { engineOutputPath } from "../../../shared/agent/paths.ts";
import { LineFile } from "../../folder/line-file.ts";
import { type FromAdapter, fromAdapter } from "./protocol.ts";

const MAX_LINE_BYTES = 64 * 1024 * 1024;
const OUTPUT = /^engine\.(\d+)\.jsonl$/;

/** @returns those of the deliveries that the agent may have been told of */
export function findTaken(folder: string, deliveryIds: readonly string[]): Set<string> {
  const wanted = new Set(deliveryIds);
  const taken = new Set<string>();
  if (wanted.size === 0) return taken;
  for (const generation of generationsIn(folder))
    for (const line of linesOf(folder, generation, '"taken"'))
      if (line.type === "taken" && wanted.has(line.id)) taken.add(line.id);
  return taken;
}

/** The titles of calls that ran when the newest process before `generation` that had a turn was cut off. */
export function findRunning(folder: string, generation: number): string[] {
  for (const one of generationsIn(folder).reverse()) {
    const running = one < generation ? runningIn(folder, one) : undefined;
    if (running) return running;
  }
  return [];
}

/** Undefined if it had no turn. */
function runningIn(folder: string, generation: number): string[] | undefined {
  const open = new Map<string, string>();
  const asked = new Map<string, string>();
  let hasTurn = false;
  for (const line of linesOf(folder, generation, "")) {
    if (line.type === "call") open.set(line.id, line.title);
    else if (line.type === "call_update" && line.status !== "in_progress") open.delete(line.id);
    else if (line.type === "ask") asked.set(line.requestId, line.callId);
    else if (line.type === "answered" && line.optionId !== null) asked.delete(line.requestId);
    else if (line.type === "turn" || line.type === "end") {
      hasTurn = true;
      open.clear();
      asked.clear();
    }
  }
  // Calls that waited for a person did not run.
  for (const callId of asked.values()) open.delete(callId);
  return hasTurn ? [...open.values()] : undefined;
}

function generationsIn(folder: string): number[] {
  return readdirSync(folder)
    .flatMap((name) => OUTPUT.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b);
}

function* linesOf(folder: string, generation: number, word: string): Iterable<FromAdapter> {
  const path = engineOutputPath(folder, generation);
  if (!existsSync(path)) return;
  const file = new LineFile(path, 0, MAX_LINE_BYTES, true);
  try {
    for (let lines = file.read(); lines.length > 0; lines = file.read())
      for (const { text } of lines) {
        const { data } = text.includes(word) ? fromAdapter.safeParse(parseJson(text)) : {};
        if (data) yield data;
      }
  } finally {
    file.close();
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // cut off in its writing
  }
}
