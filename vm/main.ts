import { runMain } from "../shared/main-program.ts";
import { parseVmConfig } from "./config.ts";
import { dropUselessTmpdir } from "./processes/login.ts";
import { runSidecar } from "./run.ts";

dropUselessTmpdir(process.env);
await runMain("threadmux vm", process.env, (env) => runSidecar(parseVmConfig(env, process.argv.slice(2))));
