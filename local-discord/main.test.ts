/** The program: one line out, a file for the relay, a clean end. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Releasers, withDeadline } from "../shared/lifecycle.ts";
import { runLocalDiscord } from "./run.ts";

const MAIN = fileURLToPath(new URL("./main.ts", import.meta.url));
const ROOT = fileURLToPath(new URL("..", import.meta.url));

let releasers: Releasers;
let folder: string;
beforeEach(() => {
  releasers = new Releasers();
  folder = mkdtempSync(join(tmpdir(), "local-discord-main-"));
  releasers.add("folder", () => rmSync(folder, { recursive: true, force: true }));
});
afterEach(() => releasers.close());

function run(env: Record<string, string>) {
  const child: ChildProcess = spawn(process.execPath, ["--import", "tsx", MAIN], {
    cwd: ROOT,
    env: { ...process.env, STATE_DIR: join(folder, "state"), ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout?.on("data", (chunk) => {
    stdout += chunk;
  });
  child.stderr?.on("data", (chunk) => {
    stderr += chunk;
  });
  const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
  releasers.add("program", async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
    await ended;
  });
  const lineOut = new Promise<void>((resolve) =>
    child.stdout?.on("data", () => stdout.includes("\n") && resolve()),
  );
  return {
    child,
    ended: withDeadline(ended, 25_000, "the end of the program"),
    /** A program that is to fail prints none. */
    untilLine: () => withDeadline(lineOut, 25_000, "the program's line"),
    output: () => ({ stdout, stderr }),
  };
}

describe("the program", () => {
  it("prints the page's address, leaves the relay's variables, and takes them away at its end", async () => {
    const program = run({ LOCAL_DISCORD_PORT: "0" });
    await program.untilLine();
    const { stdout } = program.output();
    expect(stdout).toMatch(/^Local Discord: http:\/\/127\.0\.0\.1:\d+\/#key=[\w-]{43}\n$/);
    const envFile = join(folder, "state", "local-discord.env");
    expect(statSync(envFile).mode & 0o777).toBe(0o600);
    const variables = Object.fromEntries(
      readFileSync(envFile, "utf8")
        .trim()
        .split("\n")
        .map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
    );
    expect(Object.keys(variables)).toEqual([
      "DISCORD_API_URL",
      "DISCORD_TOKEN",
      "DISCORD_CHANNEL_ID",
      "ALLOWED_USER_IDS",
    ]);
    const answer = await fetch(
      `${variables["DISCORD_API_URL"]}/v10/channels/${variables["DISCORD_CHANNEL_ID"]}`,
      {
        headers: { authorization: `Bot ${variables["DISCORD_TOKEN"]}` },
      },
    );
    expect(await answer.json()).toMatchObject({ name: "terminals" });
    program.child.kill("SIGTERM");
    expect(await program.ended).toBe(0);
    expect(existsSync(envFile)).toBe(false);
    expect(existsSync(join(folder, "state", "local-discord.json"))).toBe(true);
    expect(program.output().stderr).toBe("");
  });

  it("says in one line that the port is taken, and what else is wrong", async () => {
    const other = await runLocalDiscord();
    releasers.add("other", () => other.close());
    const taken = run({ LOCAL_DISCORD_PORT: String(other.port) });
    expect(await taken.ended).toBe(2);
    expect(taken.output()).toEqual({
      stdout: "",
      stderr: `Port ${other.port} is taken: set LOCAL_DISCORD_PORT to a free one.\n`,
    });
    expect(existsSync(join(folder, "state", "local-discord.env"))).toBe(false);

    const wrong = run({ LOCAL_DISCORD_PORT: "many" });
    expect(await wrong.ended).toBe(2);
    expect(wrong.output().stderr).toBe("LOCAL_DISCORD_PORT: expected a port number\n");
  });
});
