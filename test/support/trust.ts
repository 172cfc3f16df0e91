/** Directories that bring hooks and MCP servers, for tests of the trust question. */
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A hook and a server, each of which leaves a file behind when it runs. */
export function bringHooks(dir: string): { hasRun: () => string[] } {
  const [hook, server] = [join(dir, "hook-ran"), join(dir, "server-ran")];
  mkdirSync(join(dir, ".claude"), { recursive: true });
  const settings = {
    hooks: { SessionStart: [{ hooks: [{ type: "command", command: `touch '${hook}'` }] }] },
  };
  writeFileSync(join(dir, ".claude", "settings.json"), JSON.stringify(settings));
  const servers = { mcpServers: { mine: { command: "touch", args: [server] } } };
  writeFileSync(join(dir, ".mcp.json"), JSON.stringify(servers));
  return {
    hasRun: () => [hook, server].filter((file) => existsSync(file)).map((file) => file.slice(dir.length + 1)),
  };
}

/** The program, with a note of the arguments of each start. */
export function noting(folder: string, program: string, args: readonly string[] = []) {
  const log = join(folder, "starts");
  const file = join(folder, "noting.sh");
  const words = [program, ...args].map((word) => `'${word}'`).join(" ");
  writeFileSync(file, `#!/bin/sh\nprintf '%s\\n' "$*" >> '${log}'\nexec ${words} "$@"\n`);
  chmodSync(file, 0o755);
  const starts = () => (existsSync(log) ? readFileSync(log, "utf8").trim().split("\n") : []);
  return { file, starts };
}
