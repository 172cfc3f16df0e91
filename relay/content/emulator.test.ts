import { createRequire } from "node:module";
import { expect, it } from "vitest";
import { Emulator } from "./emulator.ts";

const nothing = (): void => {};
const listener = {
  rowLeaves: nothing,
  screenErased: () => 0,
  scrollbackErased: nothing,
  movedUp: nothing,
  alternateEntered: nothing,
  bell: nothing,
  titleChanged: nothing,
};

it("is the version whose inner parts are used", () => {
  const { version } = createRequire(import.meta.url)("@xterm/headless/package.json");
  // Another one: read its InputHandler, BufferService and EscapeSequenceParser before changing this.
  expect(version).toBe("6.0.0");
});

it("still has the inner parts that are used", () => {
  const emulator = new Emulator(10, 3, listener);
  emulator.parse("\x1b[1mab");
  const { core } = emulator;
  const row = emulator.normal.lines.get(0);
  expect(row?._data).toHaveLength(30);
  expect(row?.getString(0)).toBe("a");
  expect(core._inputHandler._parser).toMatchObject({
    currentState: 0,
    precedingJoinState: expect.any(Number),
  });
  expect(core._inputHandler._parser._transitions.table).toHaveLength(4095);
  expect(core._inputHandler._curAttrData.fg).not.toBe(0);
  expect(core._charsetService).toMatchObject({ glevel: 0, _charsets: [] });
  expect(core.coreService.modes).toEqual({ insertMode: false });
  expect(core.coreService.decPrivateModes).toMatchObject({
    origin: false,
    reverseWraparound: false,
    wraparound: true,
  });
  expect(emulator.normal).toMatchObject({
    x: 2,
    y: 0,
    ybase: 0,
    scrollTop: 0,
    scrollBottom: 2,
    savedX: 0,
    savedY: 0,
  });
  expect(emulator.normal.tabs).toEqual({ 0: true, 8: true });
});

it("answers no question of the program's", () => {
  const emulator = new Emulator(10, 3, listener);
  const terminal = emulator.core as unknown as { onData(hear: (data: string) => void): void };
  const answers: string[] = [];
  terminal.onData((data) => answers.push(data));
  emulator.parse("\x1b[c\x1b[>c\x1b[5n\x1b[6n\x1b[?6n\x1bP$qm\x1b\\\x1b]10;?\x07\x1b[?1004h");
  // They are made, but nobody is connected: the class has no way out for them.
  expect(answers.length).toBeGreaterThan(0);
  expect(Object.getOwnPropertyNames(Emulator.prototype)).not.toContain("onData");
});
