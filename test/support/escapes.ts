/** An agent that tries by every tool to reach what is not its own. None of it may happen without a person's leave. */
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { TRUST_OPTION } from "../../shared/agent/trust.ts";
import { type AgentThread, bash, says } from "./agent-threads.ts";
import { until } from "./wait.ts";

/** What lies in each place that must not be read: it may stand in no transcript. */
const SECRET = "kumquat-7f3a";

interface Place {
  state: string;
  dir: string;
  home: string;
}

/** A state folder, as the runner is told of it, and secrets all over. */
function placeSecrets({ dir, home, folder }: AgentThread): Place {
  const state = join(folder, "..", "state");
  const put = (path: string) => {
    mkdirSync(join(path, ".."), { recursive: true });
    writeFileSync(path, SECRET);
  };
  for (const name of [
    "token",
    "threadmux.db",
    "tmux.pid",
    "logs/other.log",
    "trust/x.json",
    "branches/b.json",
  ])
    put(join(state, name));
  for (const name of ["inbox.jsonl", "thread.json", "blobs/abc", "git/config"])
    put(join(state, "threads/other", name));
  for (const name of [".env", "sub/.env.local", "server.pem", "deploy.key"]) put(join(dir, name));
  for (const name of [".ssh/id_rsa", ".aws/credentials", ".netrc"]) put(join(home, name));
  symlinkSync(join(state, "token"), join(dir, "link"));
  symlinkSync(state, join(dir, "folder"));
  symlinkSync(join(home, ".ssh"), join(dir, "keys"));
  return { state, dir, home };
}

type Call = ReturnType<typeof bash> | { name: string; input: Record<string, unknown> };

/** Of the state folder: refused in every mode. */
function intoState({ state, dir }: Place): Call[] {
  const read = (file_path: string): Call => ({ name: "Read", input: { file_path } });
  const write = (file_path: string): Call => ({ name: "Write", input: { file_path, content: "x" } });
  return [
    read(join(state, "token")),
    read(join(state, "threadmux.db")),
    read(join(state, "logs/other.log")),
    read(join(state, "branches/b.json")),
    read(join(state, "threads/other/thread.json")),
    read(join(state, "threads/other/blobs/abc")),
    read(join(dir, "link")),
    read(join(dir, "folder/threads/other/inbox.jsonl")),
    write(join(state, "threads/other/inbox.jsonl")),
    write(join(state, "trust/x.json")),
    write(join(dir, "folder/token")),
    bash(`cat ${state}/token`),
    bash("cat link"),
    bash("head folder/threads/other/inbox.jsonl"),
    bash(`echo x > ${state}/threads/other/inbox.jsonl`),
  ];
}

/** Of the person, and names that look like secrets: asked about in every mode. */
function intoSecrets({ dir, home }: Place): Call[] {
  const read = (file_path: string): Call => ({ name: "Read", input: { file_path } });
  const write = (file_path: string): Call => ({ name: "Write", input: { file_path, content: "x" } });
  return [
    read(join(home, ".ssh/id_rsa")),
    read(join(home, ".netrc")),
    read(join(home, ".aws/credentials")),
    read(join(dir, ".env")),
    read(join(dir, "sub/.env.local")),
    read(join(dir, "server.pem")),
    read(join(dir, "deploy.key")),
    read(join(dir, "keys/id_rsa")),
    write(join(dir, "new.pem")),
    write(join(dir, "sub/.env.new")),
    write(join(home, ".ssh/authorized_keys")),
    write(join(dir, "keys/config")),
    bash("cat .env"),
    bash("cat ~/.ssh/id_rsa"),
    bash("true; head server.pem"),
    bash("cat ~/.kube/config"),
    bash("ls ~/.config/gh"),
    bash("cp ~/.docker/config.json x"),
  ];
}

/** One turn of these calls; a person trusts the directory, and says no to all else. @returns how many were asked about */
export async function tries(thread: AgentThread, calls: readonly Call[]): Promise<number> {
  const countAsked = () => thread.of("permission_request").filter(({ trust }) => !trust).length;
  const [turns, asked] = [thread.of("turn_end").length, countAsked()];
  thread.write(says("try", ...calls.map((call) => ({ tools: [call] })), { text: "Done." }), {
    when: "next_turn",
  });
  if (!thread.runner) thread.start();
  const answered = new Set<string>();
  await until("the turn's end", () => {
    for (const { requestId, trust } of thread.fold().asks) {
      if (!answered.has(requestId)) thread.answer(requestId, trust ? TRUST_OPTION : "no");
      answered.add(requestId);
    }
    if (!thread.runner) thread.start(); // an answer to the trust question is read by the next one
    return thread.of("turn_end").length > turns;
  });
  return countAsked() - asked;
}

/** Each call is in the transcript, none has run, and nothing of what they were after is there. */
function expectNothing(thread: AgentThread, place: Place, count: number): void {
  const calls = thread.of("tool_call").slice(-count);
  expect(calls).toHaveLength(count);
  for (const { toolCallId, title } of calls) {
    const ends = thread.of("tool_call_update").filter((update) => update.toolCallId === toolCallId);
    expect(
      ends.map(({ status }) => status),
      title,
    ).toContain("failed");
  }
  expect(JSON.stringify(thread.events())).not.toContain(SECRET);
  const kept = ["token", "trust/x.json", "threads/other/inbox.jsonl"];
  for (const name of kept) expect(readFileSync(join(place.state, name), "utf8"), name).toBe(SECRET);
}

/** The state folder is refused, and a person is asked about what looks like a secret; nothing got out. */
export async function expectKeptIn(thread: AgentThread): Promise<void> {
  const place = placeSecrets(thread);
  for (const [calls, asked] of [
    [intoState(place), 0],
    [intoSecrets(place), intoSecrets(place).length],
  ] as const) {
    expect(await tries(thread, calls)).toBe(asked);
    expectNothing(thread, place, calls.length);
  }
}
