/** What both programs' `main` do around their `run`: the environment in, signals, exit codes. */
import { ConfigError, findNodeProblem, loadDotEnv } from "./config.ts";
import { errorText } from "./errors.ts";

/**
 * Starts a program and ends it, once, at SIGINT or SIGTERM. Exits 2 for a configuration that can't work (every
 * problem on a line of its own) and 1 for anything else.
 */
export async function runMain(
  name: string,
  env: NodeJS.ProcessEnv,
  start: (env: NodeJS.ProcessEnv) => Promise<{ close: () => Promise<void>; failed?: Promise<never> }>,
): Promise<void> {
  const fail = (code: number, lines: readonly string[]): never => {
    for (const line of lines) process.stderr.write(`${name}: ${line}\n`);
    process.exit(code);
  };
  const nodeProblem = findNodeProblem(process.version);
  if (nodeProblem) fail(2, [nodeProblem]);
  try {
    loadDotEnv();
    const running = await start(env);
    let isEnding = false;
    const end = (signal: NodeJS.Signals) => {
      if (isEnding) return;
      isEnding = true;
      running.close().then(
        () => process.exit(0),
        (error: unknown) => fail(1, [`ended by ${signal}: ${errorText(error)}`]),
      );
    };
    running.failed?.catch((error: unknown) => {
      if (!isEnding) fail(1, [errorText(error)]);
    });
    process.on("SIGINT", end);
    process.on("SIGTERM", end);
  } catch (error) {
    if (error instanceof ConfigError) fail(2, error.problems);
    fail(1, [errorText(error)]);
  }
}
