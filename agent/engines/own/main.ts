/** The engine `own`: our own agent. It reads lines from the runner, writes lines for it, and survives it. */
import "../../plain-parsing.ts";
import { readFileSync, writeSync } from "node:fs";
import { join, resolve, sep } from "node:path";
import { createInterface } from "node:readline";
import { MAX_ATTACHMENT_BYTES } from "../../../shared/agent/attachments.ts";
import { ENGINE_FOLDER_MARKER, NO_NETWORK } from "../../../shared/agent/markers.ts";
import { threadPath } from "../../../shared/agent/paths.ts";
import { findProgram } from "../../../shared/find-program.ts";
import { readRegular } from "../../../shared/regular-file.ts";
import { withoutNetwork } from "../../../shared/sandbox/no-network.ts";
import { Agent } from "./agent.ts";
import { findMcpTools } from "./mcp.ts";
import { outputTool } from "./output-tool.ts";
import { START_FILE } from "./own.ts";
import { startSchema, toOwn } from "./protocol.ts";
import { Providers } from "./provider.ts";
import { makeTools } from "./tools/tool-set.ts";
import { findWhere } from "./tools/where.ts";
import { useHeadersOfOurs } from "./transport.ts";

const env = Object.fromEntries(
  Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
);

const STANDARD_OUTPUT = 1;
// The AI SDK writes its warnings to the standard output, where the runner reads this program's lines.
globalThis.AI_SDK_LOG_WARNINGS = false;
useHeadersOfOurs();
/** Time after which a command of an agent that hears a channel goes on in the background, in seconds. */
const MAX_WAIT_SECONDS = 60;

async function run(): Promise<void> {
  const folder = env[ENGINE_FOLDER_MARKER];
  if (folder === undefined)
    throw new Error(`${ENGINE_FOLDER_MARKER} is not set: threadmux starts this program`);
  const start = startSchema.parse(JSON.parse(readFileSync(join(folder, START_FILE), "utf8")));
  const { config } = start;
  const { stateDir } = config.launch;
  const attachments = threadPath(folder, "attachments");
  const { outputSchema } = config.agent;
  const { mcpConfigFile, allowedTools } = config.launch;
  const [mcp, output] = await Promise.all([
    findMcpTools({ file: mcpConfigFile, allowed: allowedTools }),
    outputSchema && outputTool(outputSchema),
  ]);
  const providers = new Providers(start.providers);
  const agent = new Agent({
    ...{ start, providers },
    folder,
    env,
    commandEnv: withoutKeys(env, providers.keys),
    inSandbox: env[NO_NETWORK] === "1" ? findNoNetwork() : undefined,
    where: findWhere(config.dir, [attachments], stateDir, env["HOME"]),
    // An agent that hears a channel hears nothing while it waits for a command.
    makeTools: (onTasks) => makeTools(onTasks, config.agent.voice && MAX_WAIT_SECONDS),
    mcp,
    output,
    readImage: (uri) => readImage(folder, uri),
    write: (bytes) => {
      for (let done = 0; done < bytes.length; ) done += writeSync(STANDARD_OUTPUT, bytes, done);
    },
    exit: () => process.exit(0),
  });
  createInterface({ input: process.stdin }).on("line", (text) => agent.take(toOwn.parse(JSON.parse(text))));
}

/** @throws Error if it can't be made: commands never run with a network that they are not to have. */
function findNoNetwork(): (program: string, args: readonly string[]) => { program: string; args: string[] } {
  const bwrap = findProgram("bwrap", env["PATH"] ?? "");
  if (bwrap === undefined) throw new Error("bwrap is not there, which keeps commands from the network");
  return (program, args) => withoutNetwork(bwrap, program, args);
}

/** Commands of the agent have no use for the keys of its model. */
function withoutKeys(all: Record<string, string>, keys: readonly string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(all).filter(([name]) => !keys.includes(name)));
}

function readImage(folder: string, uri: string): Buffer | undefined {
  const path = resolve(folder, uri);
  if (!path.startsWith(resolve(folder) + sep)) return undefined;
  try {
    return readRegular(path, MAX_ATTACHMENT_BYTES);
  } catch {
    return undefined; // gone, or no file, which the model is told
  }
}

void run();
