import { expect, test } from "vitest";
import { findSecretInHeader, findSecretInProtocols, isLoopbackName, isOwnOrigin } from "./access.ts";

test.each([
  ["localhost", true],
  ["LOCALHOST:3001", true],
  ["127.0.0.1:3001", true],
  ["127.9.9.9", true],
  ["[::1]:8080", true],
  ["evil.example", false],
  ["127.0.0.1.evil.example:3001", false],
  ["localhost.evil.example", false],
  ["localhost:3001:1", false],
  ["127.0.0.1@evil.example", false],
  ["0.0.0.0:3001", false],
  ["[::2]", false],
  ["", false],
  [undefined, false],
])("the name %s is this machine's: %s", (host, expected) => {
  expect(isLoopbackName(host)).toBe(expected);
});

test.each([
  ["http://127.0.0.1:3001", "127.0.0.1:3001", true],
  ["https://vm.example", "vm.example", true],
  ["https://vm.example", "VM.example", true],
  ["http://127.0.0.1:3002", "127.0.0.1:3001", false],
  ["http://127.0.0.1", "127.0.0.1:3001", false],
  ["http://localhost:3001", "127.0.0.1:3001", false],
  ["ftp://127.0.0.1:3001", "127.0.0.1:3001", false],
  ["null", "null", false],
  [undefined, "127.0.0.1:3001", false],
  ["http://undefined", undefined, false],
])("the origin %s is that of the host %s: %s", (origin, host, expected) => {
  expect(isOwnOrigin({ origin, host, fetchSite: undefined })).toBe(expected);
});

test.each([
  ["Session abc", "abc"],
  ["Session", undefined],
  ["Session a b", undefined],
  ["session abc", undefined],
  ["Bearer abc", undefined],
  [undefined, undefined],
])("the secret in the header %j: %s", (header, expected) => {
  expect(findSecretInHeader(header)).toBe(expected);
});

test.each([
  ["threadmux, threadmux.session.abc", "abc"],
  ["threadmux.session.abc,threadmux", "abc"],
  ["threadmux", undefined],
  ["xthreadmux.session.abc", undefined],
  [undefined, undefined],
])("the secret among the subprotocols %j: %s", (header, expected) => {
  expect(findSecretInProtocols(header)).toBe(expected);
});
