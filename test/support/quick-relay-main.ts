/** The relay's program as `relay/main.ts` is, but for its waits: they take a tenth, for a Discord without limits. */
import { parseRelayConfig } from "../../relay/config.ts";
import { runRelay } from "../../relay/run.ts";
import { runMain } from "../../shared/main-program.ts";
import { QUICK_WAIT_SCALE } from "./relay-config.ts";

await runMain("threadmux relay", process.env, (env) =>
  runRelay(parseRelayConfig(env), { waitScale: QUICK_WAIT_SCALE }),
);
