/** Engine 2: any program that takes a message and prints an answer. It is run once a message, by our adapter. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ENGINE_FOLDER_MARKER } from "../../../shared/agent/markers.ts";
import type { Conversation, Engine, Env } from "../../engine.ts";
import { findMissing, needsOfProgram } from "../named-program.ts";
import { fromAdapter } from "./protocol.ts";
import { CommandSession } from "./session.ts";

/** @param adapter main.js of this folder */
export function commandEngine(name: string, adapter: string): Engine {
  return {
    name,
    check: async ({ launch: { program } }, env) => findMissing(program, env),
    lookAround: async () => undefined, // it is the person's own program: we load nothing for it
    look: async (_sessionId, { deliveryIds }, env) => lookForTaken(deliveryIds, env),
    plan: ({ config, env }) => ({
      program: process.execPath,
      args: [adapter, config.launch.program, ...config.launch.args],
      env,
      needs: needsOfProgram(config, env),
    }),
    begin: (request) => new CommandSession(request),
  };
}

/** Every message stands alone: there is no conversation that could be gone. What was taken is never run again. */
function lookForTaken(deliveryIds: readonly string[], env: Env): Conversation {
  const folder = env[ENGINE_FOLDER_MARKER];
  if (folder === undefined || deliveryIds.length === 0) return { exists: true, delivered: new Set() };
  const wanted = new Set(deliveryIds);
  const outputs = readdirSync(folder).filter((name) => /^engine\.\d+\.jsonl$/.test(name));
  const found = outputs.flatMap((name) =>
    readFileSync(join(folder, name), "utf8").split("\n").flatMap(takenIn),
  );
  return { exists: true, delivered: new Set(found.filter((id) => wanted.has(id))) };
}

function takenIn(line: string): string[] {
  if (!line.includes('"taken"')) return [];
  try {
    const said = fromAdapter.parse(JSON.parse(line));
    return said.type === "taken" ? [said.id] : [];
  } catch {
    return []; // cut off in its writing, before anything was run for it
  }
}
