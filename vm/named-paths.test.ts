import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseVmConfig } from "./config.ts";

const parse = (env: Record<string, string>) =>
  parseVmConfig({ HOME: tmpdir(), STATE_DIR: "/data/state", REPOS_DIR: "/data/repos", ...env });

test("paths for the sandbox are whole, or begin in the home", () => {
  const env = { AGENT_SANDBOX_READ: "/opt/sdk, ~/.m2", AGENT_SANDBOX_WRITE: "/srv/cache" };
  expect(parse(env)).toMatchObject({
    sandboxReads: ["/opt/sdk", join(tmpdir(), ".m2")],
    sandboxWrites: ["/srv/cache"],
  });
  expect(parse({})).toMatchObject({ sandboxReads: [], sandboxWrites: [] });
});

test.each([
  ["opt/sdk", "must be a whole path, or begin with ~/"],
  ["/opt/../etc", "must be a whole path, or begin with ~/"],
  ["~ada/x", "must be a whole path, or begin with ~/"],
  ["/data", "must not hold STATE_DIR, or lie in it"],
  ["/data/state/threads", "must not hold STATE_DIR, or lie in it"],
])("%s is refused, with the variable's name", (path, why) => {
  for (const name of ["AGENT_SANDBOX_READ", "AGENT_SANDBOX_WRITE"])
    expect(() => parse({ [name]: path })).toThrow(`${name}: ${path} ${why}`);
});
