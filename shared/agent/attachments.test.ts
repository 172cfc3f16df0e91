import fc from "fast-check";
import { expect, test } from "vitest";
import { attachmentNameSchema, findImageType, numberedName, safeFileName } from "./attachments.ts";

test.each([
  ["notes.txt", "notes.txt"],
  ["../../etc/passwd", "passwd"],
  ["C:\\Users\\a\\photo 1.PNG", "photo 1.PNG"],
  [".env", "env"],
  ["-rf", "rf"],
  ["a\u202egnp.exe", "a_gnp.exe"],
  ["line\nbreak\0.md", "line_break_.md"],
  ["..", "file"],
  ["größe.pdf", "größe.pdf"],
  [`${"x".repeat(300)}.gz`, `${"x".repeat(117)}.gz`],
])("%j is kept as %j", (name, expected) => {
  expect(safeFileName(name)).toBe(expected);
});

// Promise: S24
test("whatever a file is called, its name is one safe file of the folder, and so is its other name", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: "binary", maxLength: 400 }),
      fc.integer({ min: 2, max: 999 }),
      (name, n) => {
        for (const safe of [safeFileName(name), numberedName(safeFileName(name), n)]) {
          expect(safe).not.toMatch(/^[.-]|[/\\\p{C}]/u);
          expect(Buffer.byteLength(safe)).toBeLessThanOrEqual(120);
          expect(safe).not.toBe("");
          expect(attachmentNameSchema.safeParse(safe).success).toBe(true);
        }
      },
    ),
  );
});

test("pictures are known by how they begin, not by their names", () => {
  expect(findImageType(Buffer.from("\x89PNG\r\n\x1a\n", "latin1"))).toBe("image/png");
  expect(findImageType(Buffer.from("\xff\xd8\xff\xe0", "latin1"))).toBe("image/jpeg");
  expect(findImageType(Buffer.from("GIF89a"))).toBe("image/gif");
  expect(findImageType(Buffer.from("RIFF1234WEBPVP8 "))).toBe("image/webp");
  expect(findImageType(Buffer.from("<svg>"))).toBeUndefined();
});
