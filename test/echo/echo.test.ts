/** A kind of thread that none of our programs has a line for: it comes in from outside, once at each program's start. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { CLI_KINDS } from "../../cli/kinds/kinds.ts";
import { RELAY_KINDS } from "../../relay/kinds/kinds.ts";
import { buildCli, type Cli } from "../support/cli.ts";
import { type Everything, startEverything } from "../support/relay.ts";
import { startSidecar } from "../support/sidecar.ts";
import { until } from "../support/wait.ts";
import { cliEcho, guest, relayEcho } from "./kind.ts";

let all: Everything;
let cli: Cli;
beforeAll(async () => {
  all = await startEverything({
    isQuick: true,
    guestKinds: { echo: guest },
    relayKinds: { ...RELAY_KINDS, echo: relayEcho } as typeof RELAY_KINDS,
  });
  cli = await buildCli(all.sidecar, { ...CLI_KINDS, echo: cliEcho } as typeof CLI_KINDS);
});
afterAll(() => all?.close());

const make = (threadId: string, more: object = {}) =>
  all.sidecar.client.createThread({ threadId, type: "echo", dir: ".", command: "hello", ...more });

test("the API makes, lists, describes and ends it", async () => {
  await make("one");
  const [listed] = (await all.sidecar.client.listThreads()).filter(({ threadId }) => threadId === "one");
  expect(listed).toMatchObject({ type: "echo", status: "idle", facts: { name: "an echo", icon: "🦜" } });
  await all.sidecar.client.sendInput("one", { text: "are you there?" });
  const { output } = await all.sidecar.client.readOutput("one");
  expect(output).toBe("hello\r\nyou said are you there?\r\n");
  const { summary } = await all.sidecar.client.killThread("one");
  expect(summary).toBe("hello\nyou said are you there?");
  expect((await all.sidecar.client.getThread("one")).status).toBe("killed");
  await expect(all.sidecar.client.sendInput("one", { text: "?" })).rejects.toThrow(
    "It echoes nothing any more.",
  );
  await expect(make("two", { command: "nothing" })).rejects.toThrow("command: an echo begins with words.");
  await expect(make("two", { type: "parrot" })).rejects.toThrow(
    "type: must be one of echo, terminal, agent, browser, room.",
  );
});

test("the command line lists, describes, tells, follows and ends it", async () => {
  await make("cli");
  expect((await cli.call(["ls"])).stdout).toMatch(/cli.*echo|echo.*cli/);
  expect(JSON.parse((await cli.call(["status", "cli", "--json"])).stdout)).toMatchObject({ type: "echo" });
  expect(await cli.call(["send", "cli", "and", "you?"])).toMatchObject({ code: 0, stderr: "" });
  expect((await cli.call(["tail", "cli"])).stdout).toBe("hello\r\nyou said and you?\r\n");
  expect((await cli.call(["steps", "cli"])).stderr).toContain("cli is an echo; this is for agents");
  expect(await cli.call(["kill", "cli"])).toMatchObject({ code: 0 });
});

test("the relay shows it, passes on what people write, and tells its end", async () => {
  await make("disc", { home: "discord" });
  const home = await until(
    "its thread",
    async () => (await all.sidecar.client.getThread("disc")).home?.channelId,
  );
  const said = () =>
    all.discord.driver.messages(home).flatMap(({ author, content }) => (author.isBot ? [content] : []));
  await all.untilShown(home, "hello");
  expect(said()[0]).toMatch(/^🦜 /);
  all.discord.driver.post(all.you, home, "who is there?");
  await all.untilShown(home, "you said who is there?");
  await all.stopRelay();
  await all.startRelay();
  all.discord.driver.post(all.you, home, "still?");
  await all.untilShown(home, "you said still?");
  const command = async (name: string, options: Record<string, string> = {}) =>
    (await all.discord.driver.command(all.you, home, name, options).reply()).content;
  expect(await command("thread list")).toContain("🦜");
  expect(await command("thread pause")).toContain("This thread is an echo");
  expect(await command("status")).toMatch(/🦜 echo/);
  expect(await command("kill", { thread: home })).toContain("⏹");
  await until("its end", () => said().some((text) => text.startsWith("⏹ Ended.")));
});

test("it is there again after a restart; a sidecar without its kind does not start", async () => {
  const sidecar = await startSidecar({}, { guestKinds: { echo: guest } });
  try {
    await sidecar.client.createThread({ threadId: "again", type: "echo", dir: ".", command: "hello" });
    await sidecar.restart();
    expect(await sidecar.client.getThread("again")).toMatchObject({ type: "echo", status: "idle" });
    await sidecar.stop();
    await expect(startSidecar({}, { folders: sidecar.folders })).rejects.toThrow(
      "thread again is of the kind echo, which this sidecar does not have",
    );
  } finally {
    await sidecar.close();
  }
});
