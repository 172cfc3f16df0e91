/** The command line beside agents of the stand-in engine: what its tests set up, and how they make agents. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { openAgent, STAND_IN_CONFIG, script, untilStatus } from "./agents.ts";
import { buildCli, type Cli } from "./cli.ts";
import { startSidecar, type TestSidecar } from "./sidecar.ts";

/** A call of a tool. */
export interface Call {
  name: string;
  input: Record<string, unknown>;
}

export const bash = (command: string): Call => ({ name: "Bash", input: { command, description: "d" } });

export interface CliAgents {
  sidecar: TestSidecar;
  cli: Cli;
  numberOf: (id: string) => Promise<string>;
  /** A file of the directory in which an agent works. */
  fileOf: (id: string, name: string) => string;
  /** An agent that asks for its first call. @returns its number */
  openAsking: (id: string, ...tools: Call[]) => Promise<string>;
}

/** Starts a sidecar for all tests of a file; what it gives can be used once they run. */
export function cliAgents(): CliAgents {
  let sidecar: TestSidecar | undefined;
  let cli: Cli | undefined;
  const mustRun = <T>(value: T | undefined): T => {
    if (value === undefined) throw new Error("no test runs yet");
    return value;
  };
  beforeAll(async () => {
    sidecar = await startSidecar(STAND_IN_CONFIG);
    mkdirSync(join(sidecar.reposDir, "shop"));
    cli = await buildCli(sidecar);
  });
  afterAll(() => sidecar?.close());
  const numberOf = async (id: string) => String((await mustRun(sidecar).client.getThread(id)).number);
  return {
    get sidecar() {
      return mustRun(sidecar);
    },
    get cli() {
      return mustRun(cli);
    },
    numberOf,
    fileOf: (id, name) => join(mustRun(sidecar).reposDir, id, name),
    openAsking: async (id, ...tools) => {
      await openAgent(mustRun(sidecar), id, script("go", { tools }, { text: "All done." }));
      await untilStatus(mustRun(sidecar), id, "waiting");
      return numberOf(id);
    },
  };
}
