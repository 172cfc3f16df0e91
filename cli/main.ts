#!/usr/bin/env node
import { findNodeProblem } from "../shared/config.ts";
import { EXIT } from "./exit-codes.ts";
import { runCli } from "./program.ts";

// The reader has enough (`| head`): that is no failure. The exit code that was found by then counts all the same.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(process.exitCode ?? EXIT.ok);
  process.stderr.write(`threadmux: standard output: ${error.message}\n`);
  process.exit(process.exitCode || EXIT.failure);
});
process.stderr.on("error", () => {}); // nobody to tell

const nodeProblem = findNodeProblem(process.version);
if (nodeProblem) {
  process.stderr.write(`threadmux: ${nodeProblem}\n`);
  process.exit(EXIT.usage);
}
process.exitCode = await runCli(process.argv.slice(2), process.env, process, process.cwd());
