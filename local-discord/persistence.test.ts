/** What survives a restart, and how the file is kept. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Releasers } from "../shared/lifecycle.ts";
import { WIDE_LIMITS } from "./rate-limits.ts";
import { type LocalDiscord, runLocalDiscord } from "./run.ts";
import { botApi } from "./testing.ts";

let releasers: Releasers;
let folder: string;
beforeEach(() => {
  releasers = new Releasers();
  folder = mkdtempSync(join(tmpdir(), "local-discord-"));
  releasers.add("folder", () => rmSync(folder, { recursive: true, force: true }));
});
afterEach(() => releasers.close());

async function start(): Promise<LocalDiscord> {
  const discord = await runLocalDiscord({
    stateFile: join(folder, "state", "local-discord.json"),
    limits: WIDE_LIMITS,
    users: [{ name: "Robin" }],
  });
  releasers.add("local Discord", () => discord.close());
  return discord;
}

describe("the state file", () => {
  it("keeps people, token, commands, threads, messages, files, nonces and rising ids", async () => {
    const first = await start();
    const api = botApi(first);
    await api("PUT", `/applications/${first.applicationId}/guilds/${first.guildId}/commands`, [
      { name: "done", description: "d" },
    ]);
    const thread = first.driver.createThread(first.you.id, "kept");
    first.driver.post(first.you.id, thread.id, "hello", { files: [{ name: "a.txt", data: "bytes" }] });
    const once = { content: "once", nonce: "n", enforce_nonce: true };
    const sent = await api("POST", `/channels/${thread.id}/messages`, once);
    first.driver.archiveThread(first.you.id, thread.id);
    await first.close();

    const second = await start();
    const { botToken, applicationId, guildId, channelId, users } = first;
    expect(second).toMatchObject({ botToken, applicationId, guildId, channelId, users });
    expect(second.driver.commands(second.you.id).map((command) => command.name)).toEqual(["done"]);
    expect(second.driver.threads()).toMatchObject([{ id: thread.id, name: "kept", isArchived: true }]);
    const seen = second.driver.messages(thread.id);
    expect(seen.map((message) => message.content)).toEqual(["hello", "once"]);
    expect(second.driver.attachment(seen[0]?.attachments[0]?.id ?? "").toString()).toBe("bytes");
    second.driver.unarchiveThread(second.you.id, thread.id);
    const again = await botApi(second)("POST", `/channels/${thread.id}/messages`, once);
    expect(again.body["id"]).toBe(sent.body["id"]);
    const next = second.driver.post(second.you.id, thread.id, "next");
    expect(BigInt(next.id) > BigInt(String(sent.body["id"]))).toBe(true);
    expect(second.pageUrl).not.toBe(first.pageUrl); // a new key at every start
  });

  it("is readable by its owner only and never half written", async () => {
    const discord = await start();
    const path = join(folder, "state", "local-discord.json");
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, "state")).mode & 0o777).toBe(0o700);
    discord.driver.post(discord.you.id, discord.channelId, "soon on disk");
    await discord.driver.until(() => readFileSync(path, "utf8").includes("soon on disk"), {
      what: "the save",
    });
    expect(readdirSync(join(folder, "state")).sort()).toEqual([
      "local-discord.json",
      "local-discord.json.files",
    ]);
    await discord.close();
    expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({ version: 1 });
  });

  it("is refused, not overwritten, when it is something else", async () => {
    const path = join(folder, "other.json");
    writeFileSync(path, '{"not": "ours"}');
    await expect(runLocalDiscord({ stateFile: path })).rejects.toThrow("no state file of local Discord");
    expect(readFileSync(path, "utf8")).toBe('{"not": "ours"}');
  });

  it("is left alone when the port is taken", async () => {
    const first = await start();
    const stateFile = join(folder, "second.json");
    await expect(runLocalDiscord({ port: first.port, stateFile })).rejects.toMatchObject({
      code: "EADDRINUSE",
    });
    expect(readdirSync(folder)).not.toContain("second.json");
  });

  it("only loopback is listened on", async () => {
    await expect(runLocalDiscord({ host: "0.0.0.0" })).rejects.toThrow("loopback");
  });
});
