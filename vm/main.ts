import { setFlagsFromString } from "node:v8";
import { runMain } from "../shared/main-program.ts";
import { parseVmConfig } from "./config.ts";
import { dropUselessTmpdir } from "./processes/login.ts";
import { runSidecar } from "./run.ts";

/**
 * How much garbage there may be before it is collected, in percent of what the last collection left. V8 lets a heap of
 * the sidecar's size grow to four times as much: 100,000 requests leave 70 MiB of it. Read by V8 at each collection.
 */
const GARBAGE_PERCENT = 50;

dropUselessTmpdir(process.env);
await runMain("threadmux vm", process.env, (env) => runSidecar(parseVmConfig(env, process.argv.slice(2))));
// What a start leaves is collected later: it is not held up.
setFlagsFromString(`--heap-growing-percent=${GARBAGE_PERCENT}`);
