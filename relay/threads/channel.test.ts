import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { REST } from "discord.js";
import { expect, onTestFinished, test } from "vitest";
import { SidecarClient } from "../../shared/client.ts";
import { withDeadline } from "../../shared/lifecycle.ts";
import { createLog } from "../../shared/log.ts";
import { aDiscordId } from "../../test/support/ids.ts";
import { until } from "../../test/support/wait.ts";
import { DiscordApi } from "../discord/api.ts";
import { createBudget } from "../discord/budget.ts";
import { Requests } from "../discord/requests.ts";
import { Vm } from "../sidecar/vm.ts";
import { Channel } from "./channel.ts";

/** A sidecar that takes every request, and answers those to paths that do not end so. */
async function startSidecar(unanswered: string): Promise<{ url: string; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer(({ url = "" }, response) => {
    asked.push(url);
    if (!url.endsWith(unanswered)) response.end(JSON.stringify({ messages: [], items: [] }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

test.each(["/messages", "/inbox"])("closing does not wait for a sidecar that hangs at %s", async (path) => {
  const { url, asked } = await startSidecar(path);
  const inbox = new Channel({
    vm: new Vm(new SidecarClient({ url, token: "t".repeat(32) })),
    api: new DiscordApi(new REST(), new Requests(new AbortController().signal, async () => undefined)),
    budget: createBudget(),
    botId: "100000000000000001",
    channelId: aDiscordId("100000000000000002"),
    isMine: () => true,
    access: { may: () => false },
    log: createLog("relay", "silent"),
    now: Date.now,
  });
  inbox.start();
  await until("the request", () => asked.some((url) => url.endsWith(path)));
  await expect(withDeadline(inbox.close(), 3_000, "closing")).resolves.toBeUndefined();
});
