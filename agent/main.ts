import "./plain-parsing.ts";
import { ConfigError, findNodeProblem } from "../shared/config.ts";
import { errorText } from "../shared/errors.ts";
import { runAgent } from "./run.ts";

const EXIT_USAGE = 2;

function fail(code: number, lines: readonly string[]): never {
  for (const line of lines) process.stderr.write(`threadmux agent: ${line}\n`);
  process.exit(code);
}

async function main(): Promise<void> {
  const nodeProblem = findNodeProblem(process.version);
  if (nodeProblem) fail(EXIT_USAGE, [nodeProblem]);
  const [folder, ...rest] = process.argv.slice(2);
  if (folder === undefined || rest.length > 0) fail(EXIT_USAGE, ["usage: agent/main.cjs <thread folder>"]);
  process.stdout.on("error", () => {}); // the pane is gone: the thread goes on
  try {
    await runAgent(folder, process.env, process.stdout);
    process.exit(0);
  } catch (error) {
    if (error instanceof ConfigError) fail(EXIT_USAGE, error.problems);
    fail(1, [error instanceof Error ? (error.stack ?? error.message) : errorText(error)]);
  }
}

void main();
