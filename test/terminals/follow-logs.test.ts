import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { FollowRequest, ViewRequest } from "../../shared/follow-api.ts";
import { logs } from "../../shared/protocol/logs.ts";
import { makeSidecarFolders, startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { readAll, refusal, untilEnded, untilOutput } from "../support/threads.ts";
import { until } from "../support/wait.ts";

let sidecar: TestSidecar;
let bin: string;
const folders = makeSidecarFolders();

beforeAll(async () => {
  bin = join(folders.path, "bin");
  mkdirSync(bin);
  const PATH = [bin, process.env["PATH"] ?? ""].join(delimiter);
  folders.env["PATH"] = PATH;
  program(
    "docker",
    `case $1 in
ps) printf 'web\\nshop-db-1\\n' ;;
logs) shift; printf 'asked: %s\\n' "$*"; echo 'to stderr' >&2; exec sleep 1000 ;;
esac`,
  );
  program(
    "journalctl",
    `case "$*" in
*--field=_SYSTEMD_UNIT*) printf 'nginx.service\\n-evil.service\\n' ;;
*--field=_SYSTEMD_USER_UNIT*) printf 'own.service\\n' ;;
*) printf 'asked: %s\\n' "$*"; exit 3 ;;
esac`,
  );
  sidecar = await startSidecar({ maxThreads: 50 }, { folders });
});
afterAll(() => sidecar?.close());

function program(name: string, script: string): void {
  writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`);
  chmodSync(join(bin, name), 0o755);
}

let count = 0;
async function follow(service: string, more: Partial<FollowRequest> = {}): Promise<string> {
  const threadId = `logs-${++count}`;
  await sidecar.client.call(logs.create, {}, { body: { threadId, dir: ".", service, ...more } });
  return threadId;
}
const see = (threadId: string, body: ViewRequest) =>
  sidecar.client.call(logs.setView, { id: threadId }, { body });
const list = async (prefix: string, dir = ".") =>
  (await sidecar.client.call(logs.listServices, {}, { query: { dir, prefix } })).services;
const at = (name: string) => join(sidecar.reposDir, name);
const output = async (threadId: string) => (await readAll(sidecar.client, threadId)).output;
const shown = (threadId: string, text: string) => untilOutput(sidecar.client, threadId, text);
const times = (text: string, part: string) => text.split(part).length - 1;

test("a file is followed from its last lines on, through a rename, a writer that is late, and a truncation", async () => {
  writeFileSync(at("app.log"), Array.from({ length: 99 }, (_, i) => `line ${i}.\n`).join(""));
  const id = await follow("app.log", { lines: 2 });
  const first = await shown(id, "line 98.");
  expect(first).toContain("line 97.");
  expect(first).not.toContain("line 96.");
  appendFileSync(at("app.log"), "now.\n");
  await shown(id, "now.");
  renameSync(at("app.log"), at("app.log.1"));
  appendFileSync(at("app.log.1"), "late in the old one.\n");
  writeFileSync(at("app.log"), "first in the new one.\n");
  await shown(id, "first in the new one.");
  appendFileSync(at("app.log.1"), "later in the old one.\n");
  await shown(id, "later in the old one.");
  truncateSync(at("app.log"));
  appendFileSync(at("app.log"), "anew and longer than before.\n");
  await shown(id, "anew and longer than before.");
  appendFileSync(at("app.log"), "without an end");
  const all = await shown(id, "without an end");
  for (const text of ["line 98.", "now.", "late in", "first in", "later in", "anew and"])
    expect(times(all, text), text).toBe(1);
  expect(await sidecar.client.getThread(id)).toMatchObject({
    type: "terminal",
    title: "logs app.log",
    follows: { service: "file:app.log", paused: false, grep: null },
  });
});

test("a glob's files are told apart, and one that comes later is followed too; a renamed one is not shown twice", async () => {
  mkdirSync(at("var"));
  writeFileSync(at("var/a.log"), "from a\n");
  writeFileSync(at("var/b.log"), "from b\n");
  writeFileSync(at("var/picture.log"), Buffer.from([137, 80, 78, 71, 0, 0, 1]));
  const id = await follow("var/*.log*");
  await shown(id, "from b");
  renameSync(at("var/a.log"), at("var/a.log.1"));
  writeFileSync(at("var/a.log"), "a goes on\n");
  writeFileSync(at("var/c.log"), "from c\n");
  await shown(id, "from c");
  const all = await shown(id, "a goes on");
  expect(all).toContain("==> var/a.log <==\r\nfrom a");
  expect(all).toContain("==> var/c.log <==\r\nfrom c");
  expect(times(all, "from a")).toBe(1);
});

test("a pause holds what comes, and grep shows what holds a text; both outlive the sidecar", async () => {
  writeFileSync(at("held.log"), "one error\none fine\n");
  const id = await follow("held.log");
  await shown(id, "one fine");
  expect(await see(id, { paused: true })).toEqual({ paused: true, grep: null });
  await shown(id, "paused");
  appendFileSync(at("held.log"), "two error\ntwo fine\n");
  const held = join(sidecar.stateDir, "runs", `${id}.held`);
  await until("what comes to be held", () => readFileSync(held, "utf8").includes("two fine"));
  truncateSync(at("held.log"));
  appendFileSync(at("held.log"), "three error\nthree fine\n");
  const view = () => statSync(join(sidecar.stateDir, "runs", `${id}.view`)).ino;
  const viewBefore = view();
  await sidecar.restart();
  expect(view(), "a start writes nothing that stands there").toBe(viewBefore);
  expect(await see(id, { grep: "error" })).toEqual({ paused: true, grep: "error" });
  const paused = await output(id);
  expect(paused).not.toContain("two");
  expect((await sidecar.client.readOutput(id)).view).toEqual({ paused: true, grep: "error" });
  appendFileSync(at("held.log"), "four error\n");
  await see(id, { paused: false });
  const some = await shown(id, "four error");
  expect(some.slice(some.indexOf("hold"))).not.toContain("fine");
  appendFileSync(at("held.log"), "five fine\nfive \u001b[31mer\u001b[0mror\n");
  expect(await shown(id, "five \u001b[31mer")).not.toContain("five fine");
  await see(id, { grep: null });
  const all = await shown(id, "five fine");
  for (const text of ["two fine", "three error", "three fine"]) expect(all).toContain(text);
});

test("docker and the journal are asked by an argument vector", async () => {
  const container = await follow("shop-db-1", { lines: 7 });
  await shown(container, "asked: --follow --tail=7 shop-db-1");
  await shown(container, "to stderr");
  await sidecar.client.sendInput(container, { key: "C-c" });
  expect((await untilEnded(sidecar.client, container)).exitCode).toBe(130);
  const unit = await follow("nginx", { lines: 5 });
  const { output: journal, exitCode } = await untilEnded(sidecar.client, unit);
  expect(journal).toContain("--follow --lines=5 --unit=nginx.service");
  expect(exitCode).toBe(3);
  expect((await untilEnded(sidecar.client, await follow("unit:own.service"))).output).toContain(
    "--user-unit=own.service",
  );
  expect((await untilEnded(sidecar.client, await follow("journal"))).output).toContain("--follow --lines=50");
});

test("completion shows what is there, soon, whatever the folder and the programs", async () => {
  mkdirSync(at("shop/log"), { recursive: true });
  for (const name of ["a.log", "log/b.txt", "notes.txt"]) writeFileSync(at(`shop/${name}`), "x\n");
  const shop = (prefix: string) => list(prefix, "shop");
  await until("the machine's services", async () => (await shop("")).includes("docker:web"));
  expect(await shop("")).toEqual([
    ...["a.log", "log/b.txt", "docker:shop-db-1", "docker:web"],
    ...["unit:nginx.service", "unit:own.service", "journal"],
  ]);
  expect(await shop("ngi")).toEqual(["unit:nginx.service"]);
  expect(await shop("no")).toEqual(["notes.txt"]);
  expect(await shop("file:lo")).toEqual(["file:log/b.txt"]);
  expect(await shop("log/")).toEqual(["log/b.txt"]);
  expect(await shop("*.[lt]*")).toEqual([]);
  expect(await shop("*.*")).toEqual(["*.*", "a.log", "notes.txt"]);
  expect(await shop("docker:")).toEqual(["docker:shop-db-1", "docker:web"]);
  expect(await list("", "no/such")).toEqual([]);
  mkdirSync(at("huge"));
  for (let i = 0; i < 6_000; i++) symlinkSync("nowhere", at(`huge/${i}.log`));
  const msOf = async (prefix: string, dir?: string) => {
    const startedAt = performance.now();
    expect((await list(prefix, dir)).length).toBeGreaterThan(0);
    return performance.now() - startedAt;
  };
  const few = [await msOf("log/", "shop"), await msOf("no", "shop"), await msOf("*.*", "shop")];
  const many = (await msOf("huge/")) + (await msOf("**/*.log"));
  // A look ends after 80 ms. On a busy machine a look at three files, which ends by itself, takes as much longer.
  expect(many).toBeLessThan(1_000 + 20 * Math.max(...few));
});

test("lines that would act on a terminal do not", async () => {
  writeFileSync(at("evil.log"), "a\u001b]0;title\u0007\u001b[2J\u001b[31mred\u001b[0m\u009b5n\rover\u202e\n");
  const id = await follow("evil.log");
  const all = await shown(id, "red");
  expect(all).not.toContain("title");
  expect(all).not.toContain("\u001b[2J");
  expect(all).toContain("a\u001b[31mred\u001b[0m\ufffd5n\ufffdover\ufffd");
});

test("what can't be followed is refused in a sentence, and nothing is opened", async () => {
  execFileSync("mkfifo", [at("pipe")]);
  mkdirSync(at("folder"));
  writeFileSync(at("picture.png"), Buffer.from([137, 80, 78, 71, 0, 0, 1]));
  writeFileSync(at("noise"), Buffer.from(Array.from({ length: 500 }, (_, i) => 128 + ((i * 37) % 64))));
  writeFileSync(at("secret.log"), "x\n", { mode: 0 });
  const socket = createServer().listen(at("sock"));
  await until("the socket", () => socket.listening);
  for (let i = 0; i < 60; i++) writeFileSync(at(`many-${i}.txt`), "x\n");
  const cases: [string, string, string][] = [
    ["picture.png", "unsupported", 'service: "picture.png" is a file that is not text.'],
    ["noise", "unsupported", 'service: "noise" is a file that is not text.'],
    ["pipe", "unsupported", 'service: "pipe" is a pipe, not a file of text.'],
    ["folder", "unsupported", 'service: "folder" is a directory, not a file of text.'],
    ["sock", "unsupported", 'service: "sock" is a socket, not a file of text.'],
    ["/dev/tty", "unsupported", 'service: "/dev/tty" is a device, not a file of text.'],
    [
      "*.png",
      "unsupported",
      'service: "*.png" fits no file of text: "picture.png" is a file that is not text.',
    ],
    ["many-*", "unsupported", 'service: "many-*" fits more than 50 files; name fewer.'],
    ["*.none", "not_found", 'service: no file fits "*.none" in this directory.'],
    ["no/such", "not_found", 'service: there is no file "no/such" in this directory.'],
    [
      "nothing",
      "not_found",
      'service: there is no "nothing": it is no file here; docker has no such container; the journal has no such unit.',
    ],
    ["docker:nginx", "not_found", 'service: there is no "nginx": docker has no such container.'],
    ["unit:web", "not_found", 'service: there is no "web": the journal has no such unit.'],
    [
      "unit:-evil.service",
      "not_found",
      'service: there is no "-evil.service": the journal has no such unit.',
    ],
    ["docker:", "invalid_request", "service: nothing stands behind docker:."],
    ["--help", "invalid_request", "service: must not begin with -"],
    ["a\nb", "invalid_request", "service: must not hold control characters"],
    ["$(touch hacked)", "not_found", "there is no"],
  ];
  for (const [service, code, words] of cases) {
    const refused = await refusal(follow(service));
    expect(refused.code, service).toBe(code);
    expect(refused.message, service).toContain(words);
  }
  if (process.getuid?.() !== 0)
    expect((await refusal(follow("secret.log"))).message).toContain("can't be read by the sidecar's user");
  expect((await refusal(follow("app.log", { dir: "../.." }))).code).toBe("invalid_directory");
  socket.close();
  expect(await refusal(see("nobody", { paused: true }))).toMatchObject({ code: "not_found" });
  await sidecar.client.createThread({ threadId: "plain", type: "terminal", dir: ".", command: "cat" });
  expect(await refusal(see("plain", { paused: true }))).toMatchObject({ code: "unsupported" });
});

test("a thread that follows logs takes no text, and no view after its end", async () => {
  writeFileSync(at("still.log"), "quiet\n");
  const id = await follow("still.log");
  await shown(id, "quiet");
  expect(await refusal(sidecar.client.sendInput(id, { text: "hello" }))).toMatchObject({
    code: "unsupported",
  });
  for (const grep of ["", "a\nb", "x".repeat(201)])
    expect(await refusal(see(id, { grep })), grep).toMatchObject({ code: "invalid_request" });
  await sidecar.client.killThread(id);
  expect(await refusal(see(id, { paused: true }))).toMatchObject({ code: "thread_ended" });
});

test("docker that does not answer", async () => {
  program("docker", "echo 'Cannot connect to the Docker daemon.' >&2; exit 1");
  expect((await refusal(follow("docker:web"))).message).toBe(
    'service: there is no "web": docker does not answer: Cannot connect to the Docker daemon.',
  );
});
