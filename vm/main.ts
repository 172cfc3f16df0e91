import { runMain } from "../shared/main-program.ts";
import { parseVmConfig } from "./config.ts";
import { runSidecar } from "./run.ts";

await runMain("threadmux vm", process.env, (env) => runSidecar(parseVmConfig(env, process.argv.slice(2))));
