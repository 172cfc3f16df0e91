import { runMain } from "../shared/main-program.ts";
import { parseRelayConfig } from "./config.ts";
import { runRelay } from "./run.ts";

await runMain("threadmux relay", process.env, (env) => runRelay(parseRelayConfig(env)));
