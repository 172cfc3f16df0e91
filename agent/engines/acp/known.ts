/** The agents that we know, with their modes and faults. Any other one is held to what it says of itself. Pure. */
import { basename } from "node:path";
import type { Env } from "../../engine.ts";

export interface KnownAgent {
  /** The file name of its program. */
  program: string;
  /** Its environment, where the person's own says nothing. */
  env?: Env;
  /** The mode in which people are asked, if that is not the one that it begins in. */
  mode?: string;
  /** A second prompt in mid-turn goes into the running turn. */
  takesPrompts?: true;
  /** It says that it can load a session, and destroys it. */
  losesSessions?: true;
  /** Its titles of calls of the thread's own tools: the server, and the tool. */
  ownTool?: RegExp;
  /** Files and folders of a directory that it obeys before anybody is asked. The first one names the rest to people. */
  reads: readonly string[];
  /** Files of the person's home. If the thread has a home of its own, the agent gets a copy of each there. */
  files: readonly string[];
}

const KNOWN: readonly KnownAgent[] = [
  // In its own mode `agent` another model decides, and nobody is asked.
  {
    program: "codex-acp",
    mode: "workspace-write",
    reads: [".codex"],
    files: [".codex/config.toml", ".codex/auth.json", ".codex/AGENTS.md"],
  },
  {
    program: "opencode",
    env: { OPENCODE_DISABLE_AUTOUPDATE: "1" },
    takesPrompts: true,
    ownTool: /^(threadmux)_(\w+)$/,
    reads: [".opencode", "opencode.json", "opencode.jsonc"],
    files: [".config/opencode/opencode.json", ".local/share/opencode/auth.json"],
  },
  {
    program: "gemini",
    env: { GEMINI_CLI_NO_RELAUNCH: "true" },
    losesSessions: true,
    reads: [".gemini"],
    files: [".gemini/settings.json", ".gemini/oauth_creds.json", ".gemini/google_accounts.json"],
  },
  {
    program: "claude-agent-acp",
    reads: [".claude", ".mcp.json"],
    files: [".claude.json", ".claude/.credentials.json", ".claude/settings.json", ".claude/CLAUDE.md"],
  },
];

/** @param names its program, and what it calls itself */
export function findKnown(...names: readonly string[]): KnownAgent | undefined {
  const bases = names.map((name) => basename(name.trim().split(/\s+/)[0] ?? ""));
  const isOf = (base: string, { program }: KnownAgent) => base === program || base === `${program}-cli`;
  return KNOWN.find((known) => bases.some((base) => isOf(base, known)));
}
