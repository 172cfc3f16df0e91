import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { SidecarClient } from "../../shared/client.ts";
import { createLog } from "../../shared/log.ts";
import { aDiscordId } from "../../test/support/ids.ts";
import { until } from "../../test/support/wait.ts";
import { Vm } from "../sidecar/vm.ts";
import { Beginnings, type BeginningsOptions } from "./beginnings.ts";
import { Endings, type EndingsOptions } from "./endings.ts";

test("a thread that did not begin is removed from Discord, and its own error told, also if the VM fails then", async () => {
  const asked: string[] = [];
  // It makes the thread, and then nothing works any more.
  const sidecar = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    const isMade = request.url === "/thread/create";
    const error = request.method === "GET" ? "the first fault" : "another";
    response.statusCode = isMade ? 201 : 503;
    response.setHeader("content-type", "application/json");
    response.end(
      JSON.stringify(isMade ? { created: true, tmuxSession: "t" } : { error, code: "unavailable" }),
    );
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void sidecar.close());
  await until("the server", () => sidecar.listening);
  const url = `http://127.0.0.1:${(sidecar.address() as AddressInfo).port}`;
  const vm = new Vm(new SidecarClient({ url, token: "t".repeat(32) }));
  const threads = { setBusy: () => undefined, drop: async () => undefined, onDeleted: () => undefined };
  const deleted: string[] = [];
  const api = { deleteChannel: async (id: string) => void deleted.push(id) };
  const log = createLog("relay", "silent");
  const endings = new Endings({ vm, threads, api, log } as unknown as EndingsOptions);
  const threadMaker = { make: async () => "5" };
  const noted: string[] = [];
  const attended = { note: (id: string) => void noted.push(id) };
  const options = { vm, threads, endings, threadMaker, attended, api, log } as unknown as BeginningsOptions;
  const begun = new Beginnings(options).create(
    { channelId: aDiscordId("3"), type: "terminal", dir: ".", command: "true", userId: "1" },
    () => undefined,
  );
  await expect(begun).rejects.toThrow("the first fault");
  expect(deleted).toEqual(["5"]);
  expect(noted).toEqual(["5"]);
  expect(asked.some((one) => one.startsWith("DELETE") || one.includes("kill"))).toBe(true);
});
