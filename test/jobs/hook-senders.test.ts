/** The hooks that docs/hooks.md gives to paste, each with its sender's body; and the example that is sent by hand. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { VmJobs } from "../../relay/sidecar/jobs.ts";
import { hookSettingsSchema } from "../../shared/hooks/settings.ts";
import type { JobRequest } from "../../shared/jobs/job.ts";
import { fillTemplate, parseBody } from "../../vm/hooks/body.ts";
import { signRequest } from "../../vm/hooks/proof.ts";
import { STAND_IN_CONFIG } from "../support/agents.ts";
import { buildCli } from "../support/cli.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { untilValue } from "../support/wait.ts";

const SECRET = "a-secret-that-nobody-knows";
const DOC = fileURLToPath(new URL("../../docs/hooks.md", import.meta.url));

interface Sender {
  name: string;
  when: object;
  body: Record<string, unknown>;
}

const SENDERS: Sender[] = [
  ...readFileSync(DOC, "utf8").matchAll(/\*\*([\w ]+)\*\*: (?:(?!```)[\s\S])*```json\n([\s\S]*?)```/g),
].map(([, name = "", json = ""]) => ({ ...JSON.parse(json), name: name.toLowerCase().replace(" ", "-") }));

let sidecar: TestSidecar;
beforeAll(async () => {
  sidecar = await startSidecar({ ...STAND_IN_CONFIG, hooks: { host: "127.0.0.1", port: 0 } });
  mkdirSync(join(sidecar.reposDir, "shop"));
});
afterAll(() => sidecar.close());

const jobs = () => new VmJobs(sidecar.client);
const add = (name: string, when: object) =>
  jobs().create({
    name,
    when: { type: "webhook", secret: SECRET, ...when } as unknown as JobRequest["when"],
    what: { type: "command", dir: "shop", command: "true" },
  });

async function send({ name, when }: Sender, body: object, id: string): Promise<unknown> {
  const { proof } = hookSettingsSchema.parse(when);
  const bytes = Buffer.from(JSON.stringify(body));
  const headers = signRequest(proof, SECRET, bytes, { id, nowSeconds: Math.floor(Date.now() / 1_000) });
  const reply = await fetch(`${sidecar.hookUrl}/hook/${name}`, { method: "POST", body: bytes, headers });
  expect(reply.status).toBe(202);
  return ((await reply.json()) as { accepted: boolean }).accepted;
}

test("the document has all five", () => {
  expect(SENDERS.map(({ name }) => name)).toEqual(["github", "gitlab", "grafana", "sentry", "uptime-kuma"]);
});

test.each(SENDERS)("$name: pasted, its body begins one run, and one of another kind none", async (sender) => {
  const { name, when, body } = sender;
  await add(name, when);
  expect(await send(sender, body, "one")).toBe(true);
  expect(await send(sender, body, "one")).toBe(true); // sent again
  const { template = "" } = hookSettingsSchema.parse(when);
  const filled = fillTemplate(template, parseBody(Buffer.from(JSON.stringify(body))));
  expect(filled.filter(({ kind }) => kind === "outside").length).toBeGreaterThan(0);
  expect(
    await send(sender, { ...body, action: "other", object_kind: "x", status: "x", heartbeat: {} }, "two"),
  ).toBe(false);
  const runs = await untilValue(
    "its run",
    () => jobs().listRuns(name, 50),
    ([run]) => run !== undefined && run.endedAt !== null,
  );
  expect(runs).toMatchObject([{ status: "done" }]);
});

test.each([
  ["github", { preset: "github" }],
  ["gitlab", { preset: "gitlab" }],
  ["stripe", { preset: "stripe" }],
  ["standard", { preset: "standard" }],
  ["alertmanager", { preset: "alertmanager" }],
  ["bearer", { preset: "bearer" }],
  ["hmac", { preset: "hmac", header: "x-sig", timestampHeader: "x-time", signs: "{timestamp}.{body}" }],
])("an example that is sent by hand is signed as %s signs", async (preset, proof) => {
  const cli = await buildCli(sidecar);
  const name = `try-${preset}`;
  await add(name, { proof, secret: preset === "standard" ? `whsec_${"QUJD".repeat(8)}` : SECRET });
  expect(await cli.ok("hook", "test", name)).toMatch(/^202 .*"accepted":true/);
  expect(await cli.ok("hook", "test", name)).toMatch(/^202 .*"accepted":true/);
  await untilValue(
    "a run each",
    () => jobs().listRuns(name, 50),
    (runs) => runs.length === 2,
  );
});

test("by hand: a body of one's own, what the filter leaves out, and what is no hook", async () => {
  const cli = await buildCli(sidecar);
  await add("picky", { proof: { preset: "github" }, filter: [{ path: "/a", equals: 1 }] });
  const file = join(sidecar.reposDir, "body.json");
  writeFileSync(file, '{"a":1}');
  expect(await cli.ok("hook", "test", "picky")).toMatch(/"accepted":false/);
  expect(await cli.ok("hook", "test", "picky", "--body", file)).toMatch(/"accepted":true/);
  expect(await cli.call(["hook", "test", "nowhere"])).toMatchObject({
    code: 3,
    stderr: expect.stringContaining("no hook"),
  });
  expect((await cli.call(["hook", "test", "picky", "--body", "/nowhere"])).stderr).toMatch(/--body: /);
});
