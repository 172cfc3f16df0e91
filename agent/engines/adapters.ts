/** The adapters of the engines: the compiler asks for one for each that is declared. */
import { join } from "node:path";
import type { EngineName } from "../../shared/agent/engines/engines.ts";
import type { Engine } from "../engine.ts";
import { acpEngine } from "./acp/acp.ts";
import { claudeEngine } from "./claude/claude.ts";
import { commandEngine } from "./command/command.ts";
import { ownEngine } from "./own/own.ts";

/** @param folder of the engines: the programs that come with threadmux lie below it */
type MakeAdapter = (folder: string) => Engine;

/** The demo's program speaks the protocol of Claude Code's. */
const ADAPTERS: Readonly<Record<EngineName, MakeAdapter>> = {
  claude: () => claudeEngine("claude"),
  command: (folder) => commandEngine("command", join(folder, "command/main.cjs")),
  demo: () => claudeEngine("demo"),
  acp: (folder) => acpEngine("acp", join(folder, "acp/main.cjs")),
  own: () => ownEngine("own"),
};

export function adapterOf(engine: EngineName, folder: string): Engine {
  return ADAPTERS[engine](folder);
}
