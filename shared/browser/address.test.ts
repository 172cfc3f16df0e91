import { expect, test } from "vitest";
import { parseAddress } from "./address.ts";

test.each([
  ["example.org", "https://example.org/"],
  [" example.org/a b?c#d ", "https://example.org/a%20b?c#d"],
  ["localhost:3000", "http://localhost:3000/"],
  ["127.0.0.1:8080/x", "http://127.0.0.1:8080/x"],
  ["[::1]:80", "http://[::1]/"],
  ["HTTP://EXAMPLE.org", "http://example.org/"],
  ["http://2130706433/", "http://127.0.0.1/"],
  ["http://0177.0.0.1/", "http://127.0.0.1/"],
])("%s is %s", (text, url) => {
  expect(parseAddress(text).href).toBe(url);
});

test.each([
  ["", "must not be empty"],
  ["ftp://example.org/x", "not with ftp:"],
  ["file:///etc/passwd", "not with file:"],
  ["file:/etc/passwd", "not with file:"],
  ["data:text/html,x", "not with data:"],
  ["javascript:alert(1)", "not with javascript:"],
  ["view-source:http://example.org", "not with view-source:"],
  ["chrome://settings", "not with chrome:"],
  ["about:blank", "not with about:"],
  ["http://", "is no address of a web page"],
  ["a b c", "is no address of a web page"],
  ["http://me:secret@example.org/", "must not hold a name or a password"],
  [`example.org/${"x".repeat(2_000)}`, "must be at most 2000 characters"],
])("%s is refused", (text, why) => {
  expect(() => parseAddress(text)).toThrow(/^url: /);
  expect(() => parseAddress(text)).toThrow(why);
});
