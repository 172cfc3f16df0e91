/** Environment → local Discord → signals. */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { ConfigError, loadDotEnv, parseEnv } from "../shared/config.ts";
import { errorText } from "../shared/errors.ts";
import { writeWhole } from "../shared/whole-file.ts";
import { runLocalDiscord } from "./run.ts";

const schema = z.object({
  LOCAL_DISCORD_PORT: z.coerce
    .number("expected a port number")
    .int("expected a port number")
    .min(0, "expected a port number")
    .max(65535, "expected a port number")
    .default(3002),
  STATE_DIR: z.string().default("./.threadmux"),
});

async function main(): Promise<void> {
  loadDotEnv();
  const { LOCAL_DISCORD_PORT: port, STATE_DIR: stateDir } = parseEnv(schema, process.env);
  const envFile = join(stateDir, "local-discord.env");
  const discord = await runLocalDiscord({ port, stateFile: join(stateDir, "local-discord.json") });
  const stop = async () => {
    rmSync(envFile, { force: true });
    await discord.close();
  };
  let isStopping = false;
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      if (isStopping) return; // a second signal must not cut the saving short
      isStopping = true;
      stop().then(
        () => process.exit(0),
        (error: unknown) => fail(errorText(error), 1),
      );
    });
  }
  // What a relay is to be started with.
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  writeWhole(
    envFile,
    [
      `DISCORD_API_URL=${discord.apiUrl}`,
      `DISCORD_TOKEN=${discord.botToken}`,
      `DISCORD_CHANNEL_ID=${discord.channelId}`,
      `ALLOWED_USER_IDS=${discord.you.id}`,
      "",
    ].join("\n"),
  );
  console.log(`Local Discord: ${discord.pageUrl}`);
}

function fail(text: string, code: number): never {
  console.error(text);
  process.exit(code);
}

main().catch((error: unknown) => {
  if (error instanceof ConfigError) fail(error.message, 2);
  const code = error instanceof Error ? Reflect.get(error, "code") : undefined;
  if (code === "EADDRINUSE") {
    const port = Reflect.get(Object(error), "port");
    fail(`Port ${port} is taken: set LOCAL_DISCORD_PORT to a free one.`, 2);
  }
  fail(`Local Discord cannot start: ${errorText(error)}`, 1);
});
