import { expect, test } from "vitest";
import { parseVmConfig } from "./config.ts";

const parse = (more: Record<string, string>) => parseVmConfig({ HOME: "/tmp", PATH: "/bin", ...more });

test("the hook's door is shut unless it has a port", () => {
  expect(parse({}).hooks).toBeUndefined();
  expect(parse({ HOOK_PORT: "4000" }).hooks).toEqual({ host: "127.0.0.1", port: 4000 });
  expect(parse({ HOOK_PORT: "0", HOOK_HOST: "::1", VM_PORT: "0" }).hooks).toEqual({ host: "::1", port: 0 });
});

test("what does not fit is refused by its name", () => {
  expect(() => parse({ HOOK_HOST: "0.0.0.0" })).toThrow("HOOK_PORT: missing");
  expect(() => parse({ HOOK_PORT: "3001" })).toThrow("HOOK_PORT: must not be VM_PORT");
  expect(() => parse({ HOOK_PORT: "70000" })).toThrow("HOOK_PORT: ");
  expect(() => parse({ HOOK_PORT: "x" })).toThrow("HOOK_PORT: must be a whole number");
});
