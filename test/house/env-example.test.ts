import { readFileSync } from "node:fs";
import { parseEnv } from "node:util";
import { expect, test } from "vitest";
import { parseRelayConfig } from "../../relay/config.ts";
import { parseVmConfig } from "../../vm/config.ts";

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const example = read(".env.example");
/** Every setting switched on, with the default that the file shows. */
const defaults = parseEnv(example.replace(/^# (?=[A-Z_]+=)/gm, "")) as Record<string, string>;
const relayRequires = {
  RELAY_TOKEN: "0123456789abcdef0123456789abcdef",
  DISCORD_TOKEN: "a-token",
  DISCORD_CHANNEL_ID: "100000000000000001",
  ALLOWED_USER_IDS: "100000000000000002,100000000000000003",
};

test("as it is, it sets nothing", () => {
  expect(parseEnv(example)).toEqual({});
});

test("the sidecar's values in it are the real defaults", () => {
  // The address of the hook's door counts only if its port is set.
  const { HOOK_HOST: _, ...others } = defaults;
  expect(parseVmConfig(others)).toEqual(parseVmConfig({}));
});

test("the relay's values in it are the real defaults", () => {
  expect(parseRelayConfig({ ...defaults, ...relayRequires })).toEqual(parseRelayConfig(relayRequires));
});

test.each(["vm/config.ts", "relay/config.ts"])("it names every variable of %s", (path) => {
  const names = [...read(path).matchAll(/^ {2}([A-Z][A-Z0-9_]+): /gm)].map(([, name]) => name ?? "");
  expect(names.length).toBeGreaterThan(5);
  expect(Object.keys(defaults)).toEqual(expect.arrayContaining(names));
});
