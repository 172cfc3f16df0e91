/** Agents in git worktrees of their own, over a sidecar: repositories, and where the worktrees lie. */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ThreadEvent } from "../../shared/agent/events.ts";
import { script, transcriptOf } from "./agents.ts";
import type { TestSidecar } from "./sidecar.ts";

export const bash = (command: string) => ({ tools: [{ name: "Bash", input: { command } }] });

export function git(cwd: string, ...args: string[]): string {
  const options = { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] };
  return String(
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], options as object),
  ).trim();
}

/** @param sidecar that is there by the time anything of this is called */
export function worktreesOf(sidecar: () => TestSidecar) {
  const at = (...names: string[]) => join(sidecar().reposDir, ...names);
  return {
    at,
    inTree: (id: string, ...names: string[]) => join(sidecar().stateDir, "worktrees", id, ...names),
    repository: (name: string) => {
      mkdirSync(at(name));
      git(at(name), "init", "-q", "-b", "main");
      writeFileSync(at(name, "a.txt"), "one\n");
      writeFileSync(at(name, ".gitignore"), "set-up\n");
      git(at(name), "add", ".");
      git(at(name), "commit", "-qm", "first");
    },
    open: async (threadId: string, dir: string, ...rounds: Parameters<typeof script>[1][]) => {
      await sidecar().client.createThread({
        threadId,
        type: "agent",
        dir,
        command: script("go", ...rounds),
        title: "Fix the: login!",
        agent: { workspace: "worktree", permissionMode: "bypassPermissions" },
      });
    },
    eventsOf: async <T extends ThreadEvent["type"]>(threadId: string, type: T) => {
      const events = await transcriptOf(sidecar(), threadId);
      return events.filter((event): event is Extract<ThreadEvent, { type: T }> => event.type === type);
    },
  };
}
