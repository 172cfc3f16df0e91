/** Claude reads its settings in the person's home, and keeps its login and its records of each directory there. */
import { lstatSync, mkdirSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import type { Needs } from "../../engine.ts";

/** A person's set-up. Every other claude of theirs runs what is written there, so an agent may only read it. */
const SETUP = [
  "settings.json",
  "CLAUDE.md",
  "agents",
  "commands",
  "skills",
  "plugins",
  "hooks",
  "rules",
  "output-styles",
];
/** claude shortens longer names by a way of its own: such records stay in the thread's own home. */
const MAX_NAME = 200;

export interface ClaudePlaces {
  configDir: string;
  /** Where it keeps its state beside. */
  stateFile: string;
  /** Its working directory. */
  dir: string;
  /** Files of conversations that the thread goes on from. They may lie in the records of other directories. */
  sessions: readonly string[];
  /** A person's. */
  args: readonly string[];
}

export function needsOf({ configDir, stateFile, dir, sessions, args }: ClaudePlaces): Needs {
  const name = dir.replace(/[^a-zA-Z0-9]/g, "-");
  const project = name.length <= MAX_NAME ? [join(configDir, "projects", name)] : [];
  for (const folder of project) mkdirSync(folder, { recursive: true, mode: 0o700 });
  const others = sessions.filter((file) => !project.includes(dirname(file)));
  return {
    reads: [
      ...SETUP.map((one) => join(configDir, one)),
      ...others.flatMap((file) => [file, file.replace(/\.jsonl$/, "")]).filter(isNoLink),
      ...args.filter(isAbsolute),
    ],
    writes: [join(configDir, ".credentials.json"), ...project],
    copies: [stateFile],
  };
}

/** Another agent can write among its records; a link would lead this one to anything of the person's. */
function isNoLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === false;
}
