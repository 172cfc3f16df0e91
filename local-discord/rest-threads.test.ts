/** Discord's refusals, one by one: status, code and the field that is named. */
import { describe, expect, it } from "vitest";
import { restTest } from "./testing.ts";

const HOUR_MS = 3_600_000;
const rest = restTest();
const { api, makeThread, send } = rest;
const messages = () => `/channels/${rest.discord.channelId}/messages`;

describe("threads", () => {
  it("are public ones, said so, with a checked name and duration", async () => {
    expect((await api("GET", `/channels/${await makeThread()}`)).body["type"]).toBe(11);
    for (const body of [
      { name: "x" }, // a private one at Discord
      { name: "x", type: 12 },
      { name: "", type: 11 },
      { name: "x".repeat(101), type: 11 },
      { name: "x", type: 11, auto_archive_duration: 61 },
      { type: 11 },
    ]) {
      expect((await api("POST", `/channels/${rest.discord.channelId}/threads`, body)).body["code"]).toBe(
        50035,
      );
    }
  });

  it("one to a message, with the message's id", async () => {
    const message = await send({ content: "m" });
    const path = `${messages()}/${message.body["id"]}/threads`;
    expect((await api("POST", path, { name: "t" })).body["id"]).toBe(message.body["id"]);
    expect((await api("POST", path, { name: "t" })).body["code"]).toBe(160004);
  });

  it("take no edits, reactions or changes while archived", async () => {
    const id = await makeThread();
    const message = await send({ content: "m" }, id);
    const path = `/channels/${id}/messages/${message.body["id"]}`;
    await api("PATCH", `/channels/${id}`, { archived: true });
    const codes = [
      await api("PATCH", path, { content: "x" }),
      await api("PUT", `${path}/reactions/%E2%9C%85/@me`),
      await api("PATCH", `/channels/${id}`, { locked: true }),
      await api("PUT", `/channels/${id}/thread-members/@me`),
    ].map((answer) => [answer.status, answer.body["code"]]);
    expect(codes).toEqual(Array(4).fill([400, 50083]));
    expect((await api("PATCH", `/channels/${id}`, { archived: false, locked: true })).status).toBe(200);
  });

  it("come back by a message unless locked", async () => {
    const id = await makeThread();
    await api("PATCH", `/channels/${id}`, { archived: true });
    expect((await send({ content: "back" }, id)).status).toBe(200);
    expect(rest.discord.driver.findThread(id)?.isArchived).toBe(false);
    await api("PATCH", `/channels/${id}`, { archived: true, locked: true });
    expect((await send({ content: "no" }, id)).body["code"]).toBe(50083);
    rest.discord.driver.denyBot(["manageThreads"]);
    expect((await send({ content: "no" }, id)).body["code"]).toBe(160005);
    expect(() => rest.discord.driver.post(rest.discord.users[1]?.id ?? "", id, "no")).toThrow(
      "Thread is locked",
    );
  });

  it("are capped while active", async () => {
    const ids = [await makeThread(), await makeThread(), await makeThread()];
    const path = `/channels/${rest.discord.channelId}/threads`;
    expect((await api("POST", path, { name: "t", type: 11 })).body["code"]).toBe(160006);
    await api("PATCH", `/channels/${ids[0]}`, { archived: true });
    await makeThread();
    expect((await send({ content: "x" }, ids[0])).body["code"]).toBe(160006);
  });

  it("archive themselves when quiet; an edit is no activity", async () => {
    const id = await makeThread({ name: "t", type: 11, auto_archive_duration: 60 });
    const message = await send({ content: "m" }, id);
    rest.clock.advance(HOUR_MS - 1000);
    await api("PATCH", `/channels/${id}/messages/${message.body["id"]}`, { content: "still here" });
    expect(rest.discord.driver.findThread(id)?.isArchived).toBe(false);
    rest.clock.advance(1000);
    rest.discord.driver.tick();
    expect(rest.discord.driver.findThread(id)?.isArchived).toBe(true);
  });

  it("are listed: active by id, archived by time of archiving", async () => {
    const ids = [await makeThread(), await makeThread(), await makeThread()];
    const listed = async (path: string) =>
      ((await api("GET", path)).body["threads"] as { id: string }[]).map((thread) => thread.id);
    expect(await listed(`/guilds/${rest.discord.guildId}/threads/active`)).toEqual([...ids].reverse());
    for (const id of [ids[1], ids[2], ids[0]]) {
      rest.clock.advance(1000);
      await api("PATCH", `/channels/${id}`, { archived: true });
    }
    const archived = `/channels/${rest.discord.channelId}/threads/archived/public`;
    expect(await listed(archived)).toEqual([ids[0], ids[2], ids[1]]);
    const page = await api("GET", `${archived}?limit=2`);
    expect(page.body["has_more"]).toBe(true);
    const last = (page.body["threads"] as { thread_metadata: { archive_timestamp: string } }[])[1];
    const before = encodeURIComponent(last?.thread_metadata.archive_timestamp ?? "");
    expect(await listed(`${archived}?before=${before}`)).toEqual([ids[1]]);
    expect((await api("GET", `${archived}?before=yesterday`)).body["code"]).toBe(50035);
  });

  it("say so when renamed, twice in ten minutes and no more", async () => {
    const id = await makeThread();
    const rename = (name: string) => api("PATCH", `/channels/${id}`, { name });
    expect((await rename("a")).status).toBe(200);
    expect((await rename("b")).status).toBe(200);
    const third = await rename("c");
    expect(third.status).toBe(429);
    expect(Number(third.headers.get("x-ratelimit-remaining"))).toBeGreaterThan(0);
    expect(Number(third.headers.get("retry-after"))).toBe(600);
    expect(rest.discord.driver.messages(id).map((m) => [m.type, m.content])).toEqual([
      [4, "a"],
      [4, "b"],
    ]);
    expect((await api("PATCH", `/channels/${id}`, { archived: true })).status).toBe(200);
  });

  it("vanish when deleted", async () => {
    const id = await makeThread();
    rest.discord.driver.deleteThread(rest.discord.you.id, id);
    expect((await api("GET", `/channels/${id}`)).body["code"]).toBe(10003);
    expect((await send({ content: "x" }, id)).body["code"]).toBe(10003);
  });
});

describe("permissions", () => {
  it("50001 without a view, 50013 without the right", async () => {
    const id = await makeThread();
    const { driver } = rest.discord;
    driver.denyBot(["sendMessages"]);
    expect((await send({ content: "x" })).body["code"]).toBe(50013);
    expect((await send({ content: "x" }, id)).status).toBe(200); // threads have a right of their own
    driver.denyBot(["sendMessagesInThreads"]);
    expect((await send({ content: "x" }, id)).body["code"]).toBe(50013);
    driver.denyBot(["embedLinks"]);
    expect((await send({ embeds: [{ title: "x" }] })).body["code"]).toBe(50013);
    driver.denyBot(["createPublicThreads"]);
    const path = `/channels/${rest.discord.channelId}/threads`;
    expect((await api("POST", path, { name: "x", type: 11 })).body["code"]).toBe(50013);
    driver.denyBot(["readMessageHistory"]);
    expect((await api("GET", messages())).body).toEqual([]);
    driver.denyBot(["viewChannel"]);
    expect([(await send({ content: "x" })).status, (await send({ content: "x" })).body["code"]]).toEqual([
      403, 50001,
    ]);
    expect((await api("GET", `/channels/${id}`)).body["code"]).toBe(50001);
    driver.denyBot([]);
    expect((await send({ content: "x" })).status).toBe(200);
    expect(driver.stats.invalid).toBe(7);
  });

  it("hides what people write without the message content intent", async () => {
    const { driver, you, channelId } = rest.discord;
    driver.setMessageContentGranted(false);
    driver.post(you.id, channelId, "secret");
    driver.post(you.id, channelId, `<@${rest.discord.applicationId}> open`);
    await send({ content: "own" });
    const seen = (await api("GET", messages())).body as { content: string }[];
    expect(seen.map((m) => m.content)).toEqual(["own", `<@${rest.discord.applicationId}> open`, ""]);
  });
});
